import sharp from 'sharp';
import { ulid } from 'ulid';
import { bucket } from './storage.js';

const MAX = 20 * 1024 * 1024;

export class TooBig extends Error {}

/** Shrinks, rotates and drops EXIF, so that nobody leaks where they live. */
export async function acceptPhoto(raw: Buffer): Promise<{ full: string; thumb: string }> {
  if (raw.length > MAX) throw new TooBig();
  const id = ulid();
  const img = sharp(raw).rotate();
  const full = await img.clone().resize(2048, 2048, { fit: 'inside', withoutEnlargement: true }).webp().toBuffer();
  const thumb = await img.clone().resize(320, 320, { fit: 'cover' }).webp({ quality: 60 }).toBuffer();
  await bucket.put(`${id}.webp`, full);
  await bucket.put(`${id}_t.webp`, thumb);
  return { full: `${id}.webp`, thumb: `${id}_t.webp` };
}

export function temporaryLink(name: string, minutes = 30): Promise<string> {
  return bucket.presign(name, minutes * 60);
}
