<?php

declare(strict_types=1);

namespace Alpine\Stay\Booking;

use PDO;

final class Availability
{
    public function __construct(private PDO $db)
    {
    }

    /** @return int[] rooms of that type with nobody in them on any of the nights */
    public function free(string $type, string $from, string $to): array
    {
        $st = $this->db->prepare(
            'SELECT r.id FROM room r WHERE r.type = ? AND NOT EXISTS (
                SELECT 1 FROM stay s WHERE s.room_id = r.id
                AND s.arrives < ? AND s.departs > ? AND s.state <> "cancelled")'
        );
        $st->execute([$type, $to, $from]);
        return array_map('intval', $st->fetchAll(PDO::FETCH_COLUMN));
    }

    // prefer rooms whose neighbours in time fit tightly
    public function leastWaste(array $rooms, string $from, string $to): ?int
    {
        $best = null;
        $bestGap = PHP_INT_MAX;
        foreach ($rooms as $id) {
            $st = $this->db->prepare(
                'SELECT COALESCE(DATEDIFF(?, MAX(departs)), 30) FROM stay WHERE room_id = ? AND departs <= ?'
            );
            $st->execute([$from, $id, $from]);
            $gap = (int) $st->fetchColumn();
            if ($gap < $bestGap) {
                [$best, $bestGap] = [$id, $gap];
            }
        }
        return $best;
    }

    public function holdFor(int $room, string $from, string $to, int $minutes = 15): int
    {
        $st = $this->db->prepare(
            'INSERT INTO stay (room_id, arrives, departs, state, expires) VALUES (?, ?, ?, "held", NOW() + INTERVAL ? MINUTE)'
        );
        $st->execute([$room, $from, $to, $minutes]);
        return (int) $this->db->lastInsertId();
    }
}
