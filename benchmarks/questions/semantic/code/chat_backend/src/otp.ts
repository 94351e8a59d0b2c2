import { randomInt } from 'node:crypto';
import { redis } from './redis.js';
import { sendSms } from './sms.js';

const LIFETIME_S = 300;

/** Six digits to the handset; the number itself is the account. */
export async function start(phone: string): Promise<void> {
  const code = String(randomInt(0, 1_000_000)).padStart(6, '0');
  await redis.set(`otp:${phone}`, code, 'EX', LIFETIME_S);
  await sendSms(phone, `Your code: ${code}`);
}

export async function confirm(phone: string, code: string): Promise<boolean> {
  const tries = await redis.incr(`otp-try:${phone}`);
  await redis.expire(`otp-try:${phone}`, LIFETIME_S);
  if (tries > 4) return false;
  const want = await redis.get(`otp:${phone}`);
  if (want === null || want !== code) return false;
  await redis.del(`otp:${phone}`, `otp-try:${phone}`);
  return true;
}
