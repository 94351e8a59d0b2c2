import type { WebSocket } from 'ws';
import { redis, subscriber } from './redis.js';
import { check } from './tokens.js';

const local = new Map<string, Set<WebSocket>>();

export function attach(ws: WebSocket, token: string): string | undefined {
  const claims = check(token, process.env.JWT_SECRET!);
  if (!claims) {
    ws.close(4401, 'unauthorized');
    return undefined;
  }
  const set = local.get(claims.sub) ?? new Set();
  set.add(ws);
  local.set(claims.sub, set);
  ws.on('close', () => set.delete(ws));
  return claims.sub;
}

// every node hears everything and forwards to the sockets it holds
export async function fanOut(userIds: string[], event: unknown): Promise<void> {
  await redis.publish('events', JSON.stringify({ userIds, event }));
}

subscriber.on('message', (_channel: string, raw: string) => {
  const { userIds, event } = JSON.parse(raw) as { userIds: string[]; event: unknown };
  for (const id of userIds) {
    for (const ws of local.get(id) ?? []) {
      if (ws.bufferedAmount > 1_000_000) ws.terminate();
      else ws.send(JSON.stringify(event));
    }
  }
});
