package org.school.enrol;

import java.text.Normalizer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** The primary schools send lists with the same child spelled in three ways. */
public class PupilMerger {

    public List<List<Pupil>> suspects(List<Pupil> all) {
        Map<String, List<Pupil>> groups = new HashMap<>();
        for (Pupil p : all) {
            groups.computeIfAbsent(key(p), k -> new ArrayList<>()).add(p);
        }
        return groups.values().stream().filter(g -> g.size() > 1).toList();
    }

    static String key(Pupil p) {
        String plain = Normalizer.normalize(p.last() + p.first(), Normalizer.Form.NFD).replaceAll("\\p{M}", "");
        return plain.toLowerCase().replaceAll("[^a-z]", "") + p.birth();
    }

    public record Pupil(String first, String last, String birth) {
    }
}
