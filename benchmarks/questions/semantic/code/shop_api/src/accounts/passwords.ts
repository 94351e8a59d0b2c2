import argon2 from 'argon2';
import { pool } from '../db/pool';

const OPTIONS = { type: argon2.argon2id, memoryCost: 19456, timeCost: 2 };

export function hashPassword(plain: string): Promise<string> {
  return argon2.hash(plain, OPTIONS);
}

export async function verifyPassword(email: string, plain: string): Promise<number | null> {
  const { rows } = await pool.query('select id, digest from customer where email = lower($1)', [email]);
  if (rows.length === 0) {
    // same timing whether or not the address exists
    await argon2.hash(plain, OPTIONS);
    return null;
  }
  const ok = await argon2.verify(rows[0].digest, plain);
  return ok ? rows[0].id : null;
}

export function isTooWeak(plain: string): boolean {
  return plain.length < 10 || /^(.)\1+$/.test(plain) || COMMON.has(plain.toLowerCase());
}

const COMMON = new Set(['password123', 'qwertyuiop', '1234567890', 'letmein1234']);
