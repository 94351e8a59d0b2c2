import { reports, users } from './mongo.js';
import { redis } from './redis.js';

export async function flood(userId: string, perMinute = 40): Promise<boolean> {
  const slot = `m:${userId}:${Math.floor(Date.now() / 60_000)}`;
  const n = await redis.incr(slot);
  if (n === 1) await redis.expire(slot, 90);
  return n > perMinute;
}

export async function report(by: string, against: string, messageId: string): Promise<void> {
  await reports.updateOne({ by, messageId }, { $set: { against, at: Date.now() } }, { upsert: true });
  const distinct = await reports.distinct('by', { against, at: { $gt: Date.now() - 7 * 86_400_000 } });
  if (distinct.length >= 3) await users.updateOne({ _id: against }, { $set: { shadowed: true } });
}

// hides both directions
export async function block(by: string, against: string): Promise<void> {
  await users.updateOne({ _id: by }, { $addToSet: { blocked: against } });
}
