package org.school.enrol;

import java.time.LocalDate;
import java.time.Period;
import java.util.Comparator;
import java.util.List;

public class AdmissionService {

    private final int classSize;

    public AdmissionService(int classSize) {
        this.classSize = classSize;
    }

    /** Siblings first, then distance, then the day the form came in. */
    public List<Applicant> rank(List<Applicant> applicants) {
        return applicants.stream()
                .sorted(Comparator.comparing(Applicant::hasSibling).reversed()
                        .thenComparingDouble(Applicant::distanceKm)
                        .thenComparing(Applicant::receivedOn))
                .toList();
    }

    public List<Applicant> waitingList(List<Applicant> applicants) {
        List<Applicant> ranked = rank(applicants);
        return ranked.size() <= classSize ? List.of() : ranked.subList(classSize, ranked.size());
    }

    public boolean oldEnough(LocalDate birth, LocalDate termStart) {
        return Period.between(birth, termStart).getYears() >= 10;
    }

    public record Applicant(String name, LocalDate birth, boolean hasSibling, double distanceKm, LocalDate receivedOn) {
    }
}
