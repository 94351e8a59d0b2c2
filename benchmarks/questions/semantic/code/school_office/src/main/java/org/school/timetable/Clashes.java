package org.school.timetable;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

public class Clashes {

    public record Lesson(String subject, String teacher, String room, String group, int weekday, int period) {
    }

    /** Nobody can be in two places, and neither can a room hold two groups. */
    public List<String> find(List<Lesson> lessons) {
        Map<String, Lesson> taken = new HashMap<>();
        List<String> out = new ArrayList<>();
        for (Lesson l : lessons) {
            String slot = l.weekday() + ":" + l.period() + ":";
            for (String who : List.of(slot + l.teacher(), slot + l.room(), slot + l.group())) {
                Lesson other = taken.putIfAbsent(who, l);
                if (other != null) {
                    out.add(who + " " + other.subject() + " / " + l.subject());
                }
            }
        }
        return out;
    }

    public int idlePeriods(List<Lesson> ofTeacher) {
        int holes = 0;
        for (int day = 1; day <= 5; day++) {
            final int d = day;
            int[] p = ofTeacher.stream().filter(l -> l.weekday() == d).mapToInt(Lesson::period).sorted().toArray();
            if (p.length > 1) {
                holes += p[p.length - 1] - p[0] + 1 - p.length;
            }
        }
        return holes;
    }
}
