<?php

declare(strict_types=1);

namespace Alpine\Stay\Guest;

use PDO;

final class Newsletter
{
    public function __construct(private PDO $db, private string $secret)
    {
    }

    public function ask(string $email): string
    {
        $token = hash_hmac('sha256', strtolower($email), $this->secret);
        $this->db->prepare('INSERT IGNORE INTO newsletter (email, token) VALUES (?, ?)')->execute([$email, $token]);
        return $token;
    }

    // second click, only now may we write
    public function confirm(string $token): bool
    {
        $st = $this->db->prepare('UPDATE newsletter SET confirmed_at = NOW() WHERE token = ? AND confirmed_at IS NULL');
        $st->execute([$token]);
        return $st->rowCount() === 1;
    }

    public function leave(string $token): void
    {
        $this->db->prepare('DELETE FROM newsletter WHERE token = ?')->execute([$token]);
    }
}
