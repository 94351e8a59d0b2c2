<?php

declare(strict_types=1);

namespace Alpine\Stay\Booking;

use DateInterval;
use DatePeriod;
use DateTimeImmutable;

final class Pricing
{
    private const BASE = ['single' => 89_00, 'double' => 138_00, 'family' => 189_00];
    private const SEASONS = [['12-20', '01-07', 1.45], ['02-01', '03-10', 1.3], ['07-01', '08-31', 1.2]];

    public function factor(DateTimeImmutable $night): float
    {
        $day = $night->format('m-d');
        foreach (self::SEASONS as [$a, $b, $f]) {
            $inside = $a <= $b ? ($day >= $a && $day <= $b) : ($day >= $a || $day <= $b);
            if ($inside) {
                return $f;
            }
        }
        return 1.0;
    }

    public function total(string $type, DateTimeImmutable $from, DateTimeImmutable $to): int
    {
        $sum = 0;
        foreach (new DatePeriod($from, new DateInterval('P1D'), $to) as $night) {
            $weekend = in_array($night->format('N'), ['5', '6'], true) ? 1.1 : 1.0;
            $sum += (int) round(self::BASE[$type] * $this->factor($night) * $weekend);
        }
        return $sum;
    }

    public function forChild(int $adult, int $age): int
    {
        return match (true) {
            $age < 3 => 0,
            $age < 12 => intdiv($adult, 2),
            default => $adult,
        };
    }

    /** Seven nights for six. */
    public function longStay(int $total, int $nights): int
    {
        return $nights >= 7 ? (int) round($total * 6 / 7) : $total;
    }

    public function cityTax(int $adults, int $nights): int
    {
        return $adults * $nights * 2_70;
    }
}
