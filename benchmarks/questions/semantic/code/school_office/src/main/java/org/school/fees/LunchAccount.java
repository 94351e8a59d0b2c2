package org.school.fees;

import java.time.LocalTime;
import java.util.ArrayList;
import java.util.List;

public class LunchAccount {

    private static final LocalTime DEADLINE = LocalTime.of(8, 30);

    private int cents;
    private final List<String> allergens = new ArrayList<>();

    public void topUp(int amount) {
        if (amount <= 0) {
            throw new IllegalArgumentException("amount");
        }
        cents += amount;
    }

    public boolean order(int price, LocalTime now, int overdraft) {
        if (now.isAfter(DEADLINE) || cents - price < -overdraft) {
            return false;
        }
        cents -= price;
        return true;
    }

    public boolean mayEat(List<String> contents) {
        return contents.stream().noneMatch(allergens::contains);
    }

    public int reducedPrice(int price, int childrenInFamily, boolean onBenefits) {
        if (onBenefits) {
            return 0;
        }
        return childrenInFamily >= 3 ? price / 2 : price;
    }
}
