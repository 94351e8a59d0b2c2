import { redis } from '../db/redis';

export type Cart = Record<string, number>;

const KEEP_DAYS = 30;

export async function load(owner: string): Promise<Cart> {
  const raw = await redis.hgetall(`cart:${owner}`);
  return Object.fromEntries(Object.entries(raw).map(([k, v]) => [k, Number(v)]));
}

export async function setQuantity(owner: string, sku: string, qty: number): Promise<void> {
  if (qty <= 0) await redis.hdel(`cart:${owner}`, sku);
  else await redis.hset(`cart:${owner}`, sku, Math.min(qty, 20));
  await redis.expire(`cart:${owner}`, KEEP_DAYS * 86400);
}

/** A guest signs in: whatever was collected anonymously joins what the account had. */
export async function adopt(guest: string, account: string): Promise<void> {
  const [from, to] = await Promise.all([load(guest), load(account)]);
  for (const [sku, qty] of Object.entries(from)) {
    await setQuantity(account, sku, Math.max(qty, to[sku] ?? 0));
  }
  await redis.del(`cart:${guest}`);
}
