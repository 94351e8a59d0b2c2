package org.school.timetable;

import java.util.Comparator;
import java.util.List;
import java.util.Optional;

public class Substitution {

    public record Teacher(String code, List<String> subjects, int coverThisYear) {
    }

    /** Same subject if possible, then whoever has stepped in least often. */
    public Optional<Teacher> pick(Clashes.Lesson lesson, List<Teacher> free) {
        return free.stream()
                .min(Comparator.<Teacher, Boolean>comparing(t -> !t.subjects().contains(lesson.subject()))
                        .thenComparingInt(Teacher::coverThisYear));
    }

    public boolean sendHome(Clashes.Lesson lesson, Optional<Teacher> found, int lastPeriod) {
        return found.isEmpty() && lesson.period() == lastPeriod;
    }
}
