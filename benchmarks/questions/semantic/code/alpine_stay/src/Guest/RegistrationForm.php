<?php

declare(strict_types=1);

namespace Alpine\Stay\Guest;

final class RegistrationForm
{
    private const REQUIRED = ['surname', 'given_name', 'born', 'nationality', 'document'];

    /** @return string[] */
    public function missing(array $data): array
    {
        return array_values(array_filter(self::REQUIRED, fn ($k) => trim((string) ($data[$k] ?? '')) === ''));
    }

    /** Machine readable zone, second line of a passport. */
    public function mrzValid(string $line): bool
    {
        if (!preg_match('/^[A-Z0-9<]{44}$/', $line)) {
            return false;
        }
        return $this->digit(substr($line, 0, 9)) === (int) $line[9]
            && $this->digit(substr($line, 13, 6)) === (int) $line[19];
    }

    private function digit(string $s): int
    {
        $sum = 0;
        foreach (str_split($s) as $i => $c) {
            $v = $c === '<' ? 0 : (ctype_digit($c) ? (int) $c : ord($c) - 55);
            $sum += $v * [7, 3, 1][$i % 3];
        }
        return $sum % 10;
    }

    public function wipe(\PDO $db, int $years = 7): int
    {
        $st = $db->prepare('DELETE FROM registration WHERE left_on < CURDATE() - INTERVAL ? YEAR');
        $st->execute([$years]);
        return $st->rowCount();
    }
}
