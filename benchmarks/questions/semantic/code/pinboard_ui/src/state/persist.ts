import type { State } from './store';

const KEY = 'pinboard';
const VERSION = 3;

type Migration = (s: any) => any;

const MIGRATIONS: Record<number, Migration> = {
  1: (s) => ({ ...s, filter: '' }),
  2: (s) => {
    for (const c of Object.values<any>(s.cards)) c.labels = c.tags ?? [];
    return s;
  },
};

export function rehydrate(): State | null {
  const raw = localStorage.getItem(KEY);
  if (!raw) return null;
  try {
    let { v, s } = JSON.parse(raw);
    while (v < VERSION) s = MIGRATIONS[v++](s);
    return s;
  } catch {
    localStorage.setItem(`${KEY}-broken`, raw);
    return null;
  }
}

let timer = 0;

export function dehydrate(s: State): void {
  clearTimeout(timer);
  timer = window.setTimeout(() => {
    localStorage.setItem(KEY, JSON.stringify({ v: VERSION, s }));
  }, 250);
}
