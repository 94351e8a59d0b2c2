import { redis } from './redis.js';

const BEAT_MS = 30_000;

export class Presence {
  private timers = new Map<string, NodeJS.Timeout>();

  async heartbeat(userId: string): Promise<void> {
    await redis.zadd('presence', Date.now(), userId);
    clearTimeout(this.timers.get(userId));
    this.timers.set(userId, setTimeout(() => void this.gone(userId), BEAT_MS * 2));
  }

  async gone(userId: string): Promise<void> {
    this.timers.delete(userId);
    await redis.zrem('presence', userId);
    await redis.hset('last-seen', userId, Date.now());
    await redis.publish('presence', JSON.stringify({ userId, online: false }));
  }

  async whoIsHere(ids: string[]): Promise<Set<string>> {
    const fresh = await redis.zrangebyscore('presence', Date.now() - BEAT_MS * 2, '+inf');
    const set = new Set(fresh);
    return new Set(ids.filter((id) => set.has(id)));
  }
}
