import type { State, Store } from './store';

const DEPTH = 100;

export class History {
  private past: State[] = [];
  private future: State[] = [];
  private stamp = 0;

  constructor(private store: Store) {}

  commit(next: State, mergeMs = 400): void {
    const now = Date.now();
    // typing a word is one step, not seven
    if (now - this.stamp > mergeMs) this.past.push(this.store.state);
    this.stamp = now;
    if (this.past.length > DEPTH) this.past.shift();
    this.future = [];
    this.store.set(next);
  }

  back(): void {
    const prev = this.past.pop();
    if (!prev) return;
    this.future.push(this.store.state);
    this.store.set(prev);
  }

  forward(): void {
    const next = this.future.pop();
    if (!next) return;
    this.past.push(this.store.state);
    this.store.set(next);
  }
}
