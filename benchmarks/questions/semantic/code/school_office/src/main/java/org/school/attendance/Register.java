package org.school.attendance;

import java.time.LocalDate;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;

public class Register {

    public enum Entry {
        PRESENT, LATE, EXCUSED, UNEXCUSED
    }

    public record Line(long pupil, LocalDate day, int lesson, Entry entry) {
    }

    private final double threshold;

    public Register(double threshold) {
        this.threshold = threshold;
    }

    public Map<Entry, Long> tally(List<Line> lines) {
        Map<Entry, Long> out = new EnumMap<>(Entry.class);
        lines.forEach(l -> out.merge(l.entry(), 1L, Long::sum));
        return out;
    }

    /** Letter home when too many lessons were skipped without a note. */
    public boolean warnParents(List<Line> lines) {
        if (lines.isEmpty()) {
            return false;
        }
        long skipped = tally(lines).getOrDefault(Entry.UNEXCUSED, 0L);
        return (double) skipped / lines.size() > threshold;
    }

    public boolean excuse(Line line, LocalDate noteReceived) {
        return !noteReceived.isAfter(line.day().plusDays(7));
    }
}
