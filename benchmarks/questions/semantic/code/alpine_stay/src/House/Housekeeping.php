<?php

declare(strict_types=1);

namespace Alpine\Stay\House;

final class Housekeeping
{
    private const MINUTES = ['departure' => 35, 'stayover' => 15];

    /** Departures with an arrival on the same day come first. */
    public function sortRooms(array $rooms): array
    {
        usort($rooms, fn ($a, $b) => [$b['arrival_today'], $b['kind'] === 'departure', $a['floor']]
            <=> [$a['arrival_today'], $a['kind'] === 'departure', $b['floor']]);
        return $rooms;
    }

    public function share(array $rooms, int $maids): array
    {
        $loads = array_fill(0, $maids, 0);
        $out = array_fill(0, $maids, []);
        foreach ($rooms as $r) {
            $i = array_search(min($loads), $loads, true);
            $loads[$i] += self::MINUTES[$r['kind']];
            $out[$i][] = $r['number'];
        }
        return $out;
    }

    public function linenDue(int $nightsSinceChange, bool $asked): bool
    {
        return $asked || $nightsSinceChange >= 4;
    }
}
