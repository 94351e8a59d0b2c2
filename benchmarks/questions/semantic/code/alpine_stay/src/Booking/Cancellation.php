<?php

declare(strict_types=1);

namespace Alpine\Stay\Booking;

use DateTimeImmutable;
use PDO;

final class Cancellation
{
    public function __construct(private PDO $db)
    {
    }

    public function penalty(int $total, DateTimeImmutable $arrival, DateTimeImmutable $now): int
    {
        $days = (int) $now->diff($arrival)->format('%r%a');
        return match (true) {
            $days >= 30 => 0,
            $days >= 7 => intdiv($total * 4, 10),
            $days >= 1 => intdiv($total * 8, 10),
            default => $total,
        };
    }

    public function releaseExpired(): int
    {
        return (int) $this->db->exec('DELETE FROM stay WHERE state = "held" AND expires < NOW()');
    }

    public function markNoShow(int $stay): void
    {
        $this->db->prepare('UPDATE stay SET state = "no_show" WHERE id = ? AND arrives < CURDATE() AND checked_in IS NULL')
            ->execute([$stay]);
    }
}
