package org.school.security;

import java.util.Set;

public class AccessPolicy {

    public enum Role {
        HEAD, SECRETARY, TEACHER, GUARDIAN, PUPIL
    }

    public record User(long id, Role role, Set<String> groups, Set<Long> children) {
    }

    public boolean maySeeMarks(User u, long pupilId, String pupilGroup) {
        return switch (u.role()) {
            case HEAD -> true;
            case SECRETARY -> false;
            case TEACHER -> u.groups().contains(pupilGroup);
            case GUARDIAN -> u.children().contains(pupilId);
            case PUPIL -> u.id() == pupilId;
        };
    }

    public boolean mayEditAddress(User u) {
        return u.role() == Role.SECRETARY || u.role() == Role.HEAD;
    }
}
