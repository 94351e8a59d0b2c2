import type { Card } from '../state/store';

export interface Box {
  id: string;
  top: number;
  height: number;
}

const EDGE = 60;

export function slotFor(y: number, boxes: Box[]): number {
  const i = boxes.findIndex((b) => y < b.top + b.height / 2);
  return i === -1 ? boxes.length : i;
}

/** Fractional position between two neighbours, so only the moved row is written. */
export function orderBetween(above?: Card, below?: Card): number {
  if (!above && !below) return 1;
  if (!above) return below!.order - 1;
  if (!below) return above.order + 1;
  return (above.order + below.order) / 2;
}

export function autoScroll(el: HTMLElement, y: number): void {
  const r = el.getBoundingClientRect();
  if (y < r.top + EDGE) el.scrollTop -= 12;
  else if (y > r.bottom - EDGE) el.scrollTop += 12;
}

export function needsRenumbering(cards: Card[]): boolean {
  return cards.some((c, i) => i > 0 && c.order - cards[i - 1].order < 1e-9);
}
