import { randomBytes } from 'node:crypto';
import type { NextFunction, Request, Response } from 'express';
import { redis } from '../db/redis';

const TTL = 60 * 60 * 24 * 14;

export interface Session {
  customerId: number;
  role: 'customer' | 'staff';
}

export async function open(res: Response, s: Session): Promise<void> {
  const id = randomBytes(24).toString('base64url');
  await redis.set(`s:${id}`, JSON.stringify(s), 'EX', TTL);
  res.cookie('sid', id, { httpOnly: true, secure: true, sameSite: 'lax', maxAge: TTL * 1000 });
}

export async function close(req: Request, res: Response): Promise<void> {
  await redis.del(`s:${req.cookies.sid}`);
  res.clearCookie('sid');
}

export function requireRole(role: Session['role']) {
  return async (req: Request, res: Response, next: NextFunction) => {
    const raw = await redis.get(`s:${req.cookies.sid}`);
    if (!raw) return res.status(401).end();
    const s: Session = JSON.parse(raw);
    if (role === 'staff' && s.role !== 'staff') return res.status(403).end();
    res.locals.session = s;
    next();
  };
}
