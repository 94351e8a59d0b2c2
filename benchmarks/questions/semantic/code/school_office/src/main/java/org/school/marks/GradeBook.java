package org.school.marks;

import java.math.BigDecimal;
import java.math.RoundingMode;
import java.util.List;

public class GradeBook {

    public enum Kind {
        EXAM(3), TEST(2), HOMEWORK(1);

        final int weight;

        Kind(int weight) {
            this.weight = weight;
        }
    }

    public record Mark(Kind kind, int value) {
    }

    /** 1 is best, 5 is failed. Halves go to the pupil's favour. */
    public int termMark(List<Mark> marks) {
        int weights = 0;
        int sum = 0;
        for (Mark m : marks) {
            weights += m.kind().weight;
            sum += m.kind().weight * m.value();
        }
        if (weights == 0) {
            throw new IllegalStateException("no marks entered");
        }
        return new BigDecimal(sum).divide(new BigDecimal(weights), 2, RoundingMode.HALF_UP)
                .setScale(0, RoundingMode.HALF_DOWN).intValue();
    }

    public boolean repeatsYear(List<Integer> finals) {
        long failed = finals.stream().filter(v -> v == 5).count();
        return failed > 1;
    }

    public boolean honours(List<Integer> finals) {
        double mean = finals.stream().mapToInt(Integer::intValue).average().orElse(5);
        return mean <= 1.5 && finals.stream().noneMatch(v -> v > 3);
    }
}
