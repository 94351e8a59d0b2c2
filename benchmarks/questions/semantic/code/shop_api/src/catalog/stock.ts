import type { PoolClient } from 'pg';
import { pool } from '../db/pool';

export class SoldOut extends Error {
  constructor(readonly sku: string) {
    super(`${sku} is sold out`);
  }
}

/** Takes the pieces off the shelf inside the caller's transaction. */
export async function reserve(tx: PoolClient, sku: string, qty: number): Promise<void> {
  const res = await tx.query('update stock set on_hand = on_hand - $2 where sku = $1 and on_hand >= $2', [sku, qty]);
  if (res.rowCount === 0) throw new SoldOut(sku);
}

export async function putBack(tx: PoolClient, sku: string, qty: number): Promise<void> {
  await tx.query('update stock set on_hand = on_hand + $2 where sku = $1', [sku, qty]);
}

export async function runningLow(threshold = 3): Promise<{ sku: string; on_hand: number }[]> {
  const { rows } = await pool.query('select sku, on_hand from stock where on_hand <= $1 order by on_hand', [threshold]);
  return rows;
}
