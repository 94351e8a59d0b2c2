export interface Parcel {
  grams: number;
  country: string;
}

const ZONES: Record<string, number> = { AT: 1, DE: 2, IT: 2, CH: 3, FR: 3 };
const BASE = [0, 4.9, 9.9, 16.5, 29.0];

export function postage(p: Parcel, subtotal: number): number {
  const zone = ZONES[p.country] ?? 4;
  if (zone <= 2 && subtotal >= 80) return 0;
  const heavy = Math.max(0, Math.ceil((p.grams - 2000) / 1000));
  return BASE[zone] + heavy * 1.5;
}

/** Skips weekends; the kiln team packs on the next working day. */
export function estimateArrival(from: Date, country: string): Date {
  const transit = [0, 2, 4, 6, 12][ZONES[country] ?? 4];
  const d = new Date(from);
  let left = transit + 1;
  while (left > 0) {
    d.setDate(d.getDate() + 1);
    if (d.getDay() !== 0 && d.getDay() !== 6) left -= 1;
  }
  return d;
}
