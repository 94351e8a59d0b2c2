import { openDB } from 'idb';

export interface Op {
  id: string;
  kind: 'upsert' | 'remove';
  payload: unknown;
  at: number;
}

const db = openDB('pinboard', 1, {
  upgrade(d) {
    d.createObjectStore('outbox', { keyPath: 'id' });
  },
});

export async function enqueue(op: Op): Promise<void> {
  await (await db).put('outbox', op);
  if (navigator.onLine) void flush();
}

let busy = false;

/** Sends what piled up on the train; stops at the first refusal and keeps the rest. */
export async function flush(): Promise<void> {
  if (busy) return;
  busy = true;
  try {
    const all: Op[] = await (await db).getAll('outbox');
    for (const op of all.sort((a, b) => a.at - b.at)) {
      const res = await fetch('/api/ops', { method: 'POST', body: JSON.stringify(op) });
      if (!res.ok && res.status !== 409) return;
      await (await db).delete('outbox', op.id);
    }
  } finally {
    busy = false;
  }
}

window.addEventListener('online', () => void flush());
