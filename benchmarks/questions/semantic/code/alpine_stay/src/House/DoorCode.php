<?php

declare(strict_types=1);

namespace Alpine\Stay\House;

use DateTimeImmutable;

/** The lock computes the same thing offline. */
final class DoorCode
{
    public function __construct(private string $seed)
    {
    }

    public function make(int $room, DateTimeImmutable $arrival): string
    {
        $mac = hash_hmac('sha256', $room . $arrival->format('Ymd'), $this->seed, true);
        return str_pad((string) (unpack('N', $mac)[1] % 1_000_000), 6, '0', STR_PAD_LEFT);
    }

    public function works(DateTimeImmutable $now, DateTimeImmutable $arrival, DateTimeImmutable $departure): bool
    {
        return $now >= $arrival->setTime(15, 0) && $now <= $departure->setTime(11, 0);
    }
}
