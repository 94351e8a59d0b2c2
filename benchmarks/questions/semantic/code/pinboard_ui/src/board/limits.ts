import type { Card, State } from '../state/store';

// agreed in the retro of May
export const WIP: Record<string, number> = { doing: 4, review: 3 };

export function overloaded(s: State, column: string): boolean {
  const cap = WIP[column];
  if (!cap) return false;
  return Object.values(s.cards).filter((c) => c.column === column).length > cap;
}

export function isLate(c: Card, now = new Date()): boolean {
  return !!c.due && c.column !== 'done' && new Date(c.due) < now;
}

export function cycleDays(moves: { column: string; at: number }[]): number | null {
  const begun = moves.find((m) => m.column === 'doing')?.at;
  const ended = moves.find((m) => m.column === 'done')?.at;
  return begun && ended ? (ended - begun) / 86_400_000 : null;
}
