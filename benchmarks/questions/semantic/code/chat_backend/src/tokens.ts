import { createHmac, timingSafeEqual, randomUUID } from 'node:crypto';

const ACCESS_MS = 15 * 60_000;

interface Claims {
  sub: string;
  exp: number;
  jti: string;
}

const b64 = (s: string | Buffer) => Buffer.from(s).toString('base64url');

export function issue(userId: string, secret: string): string {
  const head = b64(JSON.stringify({ alg: 'HS256', typ: 'JWT' }));
  const body = b64(JSON.stringify({ sub: userId, exp: Date.now() + ACCESS_MS, jti: randomUUID() }));
  const sig = createHmac('sha256', secret).update(`${head}.${body}`).digest('base64url');
  return `${head}.${body}.${sig}`;
}

export function check(token: string, secret: string): Claims | undefined {
  const [head, body, sig] = token.split('.');
  if (!head || !body || !sig) return undefined;
  const want = createHmac('sha256', secret).update(`${head}.${body}`).digest();
  const have = Buffer.from(sig, 'base64url');
  if (want.length !== have.length || !timingSafeEqual(want, have)) return undefined;
  const claims: Claims = JSON.parse(Buffer.from(body, 'base64url').toString());
  return claims.exp > Date.now() ? claims : undefined;
}
