<?php

declare(strict_types=1);

namespace Alpine\Stay\Channel;

use GuzzleHttp\Client;
use GuzzleHttp\Exception\TransferException;
use Psr\Log\LoggerInterface;

final class PortalSync
{
    private const COMMISSION = ['booking' => 0.15, 'expedia' => 0.18, 'hrs' => 0.13];

    public function __construct(private Client $http, private LoggerInterface $log)
    {
    }

    public function pushInventory(string $portal, array $freeByDay): bool
    {
        foreach ([0, 2, 10] as $wait) {
            sleep($wait);
            try {
                $this->http->put("/$portal/inventory", ['json' => $freeByDay, 'timeout' => 8]);
                return true;
            } catch (TransferException $e) {
                $this->log->warning('push failed', ['portal' => $portal, 'why' => $e->getMessage()]);
            }
        }
        return false;
    }

    public function net(string $portal, int $gross): int
    {
        return (int) round($gross * (1 - (self::COMMISSION[$portal] ?? 0.0)));
    }

    /** Same surname and dates from two portals within an hour. */
    public function probablyTwice(array $a, array $b): bool
    {
        return mb_strtolower($a['surname']) === mb_strtolower($b['surname'])
            && $a['arrives'] === $b['arrives']
            && abs($a['received'] - $b['received']) < 3600;
    }
}
