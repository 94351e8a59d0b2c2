import type { Card } from '../state/store';

type Stamped<T> = { [K in keyof T]: { value: T[K]; at: number; by: string } };

export type Remote = Stamped<Card>;

/** Field by field the later write wins; equal clocks fall back to the client id. */
export function reconcile(mine: Remote, theirs: Remote): Remote {
  const out: any = { ...mine };
  for (const key of Object.keys(theirs) as (keyof Card)[]) {
    const a = mine[key];
    const b = theirs[key];
    if (!a || b.at > a.at || (b.at === a.at && b.by > a.by)) out[key] = b;
  }
  return out;
}

export function strip(r: Remote): Card {
  return Object.fromEntries(Object.entries(r).map(([k, v]) => [k, v.value])) as unknown as Card;
}
