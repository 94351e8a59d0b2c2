export interface Card {
  id: string;
  title: string;
  column: string;
  order: number;
  due?: string;
  labels: string[];
  assignee?: string;
}

export interface State {
  cards: Record<string, Card>;
  columns: string[];
  filter: string;
}

type Listener = (s: State) => void;

export class Store {
  private listeners = new Set<Listener>();
  private queued = false;

  constructor(public state: State) {}

  subscribe(fn: Listener): () => void {
    this.listeners.add(fn);
    return () => this.listeners.delete(fn);
  }

  set(next: State): void {
    this.state = next;
    if (this.queued) return;
    this.queued = true;
    // many changes in one tick, one render
    queueMicrotask(() => {
      this.queued = false;
      this.listeners.forEach((l) => l(this.state));
    });
  }
}

export function visibleCards(s: State): Card[] {
  const needle = s.filter.trim().toLowerCase();
  return Object.values(s.cards)
    .filter((c) => !needle || c.title.toLowerCase().includes(needle) || c.labels.some((l) => l === needle))
    .sort((a, b) => a.order - b.order);
}
