package org.school.security;

import java.time.LocalDate;
import java.util.List;
import org.springframework.scheduling.annotation.Scheduled;
import org.springframework.stereotype.Component;

@Component
public class PurgeJob {

    private final PupilRepository pupils;

    public PurgeJob(PupilRepository pupils) {
        this.pupils = pupils;
    }

    /** Three years after leaving only name and certificate remain. */
    @Scheduled(cron = "0 0 3 * * SUN")
    public void anonymise() {
        LocalDate limit = LocalDate.now().minusYears(3);
        List<PupilEntity> gone = pupils.findByLeftOnBefore(limit);
        for (PupilEntity p : gone) {
            p.setAddress(null);
            p.setPhone(null);
            p.setHealthNotes(null);
        }
        pupils.saveAll(gone);
    }
}
