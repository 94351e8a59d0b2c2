import { pool } from '../db/pool';

export interface Hit {
  sku: string;
  title: string;
  rank: number;
}

export async function findProducts(text: string, limit = 24): Promise<Hit[]> {
  const { rows } = await pool.query(
    `select sku, title, ts_rank(doc, q) as rank
       from product, websearch_to_tsquery('english', $1) q
      where doc @@ q and visible
      order by rank desc limit $2`,
    [text, limit],
  );
  if (rows.length > 0) return rows;
  return closeSpelling(text, limit);
}

// trigram similarity, only if the exact query gave nothing
async function closeSpelling(text: string, limit: number): Promise<Hit[]> {
  const { rows } = await pool.query(
    `select sku, title, similarity(title, $1) as rank
       from product where title % $1 and visible
      order by rank desc limit $2`,
    [text, limit],
  );
  return rows;
}

export async function alsoBought(sku: string, limit = 6): Promise<string[]> {
  const { rows } = await pool.query(
    `select b.sku, count(*) n from order_line a join order_line b using (order_id)
      where a.sku = $1 and b.sku <> $1 group by b.sku order by n desc limit $2`,
    [sku, limit],
  );
  return rows.map((r) => r.sku);
}
