import { pool } from '../db/pool';
import { load } from '../cart/cart';
import { reserve, putBack } from '../catalog/stock';
import { postage } from './shipping';

export async function placeOrder(customerId: number, country: string): Promise<number> {
  const cart = await load(String(customerId));
  const tx = await pool.connect();
  try {
    await tx.query('begin');
    let subtotal = 0;
    let grams = 0;
    for (const [sku, qty] of Object.entries(cart)) {
      await reserve(tx, sku, qty);
      const { rows } = await tx.query('select price, grams from product where sku = $1', [sku]);
      subtotal += rows[0].price * qty;
      grams += rows[0].grams * qty;
    }
    const total = subtotal + postage({ grams, country }, subtotal);
    const { rows } = await tx.query(
      "insert into orders (customer_id, total, status) values ($1, $2, 'new') returning id",
      [customerId, total],
    );
    await tx.query('commit');
    return rows[0].id;
  } catch (e) {
    await tx.query('rollback');
    throw e;
  } finally {
    tx.release();
  }
}

export async function cancel(orderId: number): Promise<boolean> {
  const tx = await pool.connect();
  try {
    await tx.query('begin');
    const { rowCount } = await tx.query(
      "update orders set status = 'cancelled' where id = $1 and status in ('new', 'paid')",
      [orderId],
    );
    const lines = await tx.query('select sku, qty from order_line where order_id = $1', [orderId]);
    if (rowCount) for (const l of lines.rows) await putBack(tx, l.sku, l.qty);
    await tx.query('commit');
    return rowCount === 1;
  } finally {
    tx.release();
  }
}
