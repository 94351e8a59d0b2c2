import { redis } from '../db/redis';

const WINDOW_S = 15 * 60;
const ALLOWED = 5;

/** Too many wrong guesses from one place: wait a quarter of an hour. */
export async function isLocked(email: string, ip: string): Promise<boolean> {
  const n = await redis.get(`fail:${email}:${ip}`);
  return Number(n ?? 0) >= ALLOWED;
}

export async function noteFailure(email: string, ip: string): Promise<void> {
  const key = `fail:${email}:${ip}`;
  const n = await redis.incr(key);
  if (n === 1) await redis.expire(key, WINDOW_S);
}

export async function clearFailures(email: string, ip: string): Promise<void> {
  await redis.del(`fail:${email}:${ip}`);
}
