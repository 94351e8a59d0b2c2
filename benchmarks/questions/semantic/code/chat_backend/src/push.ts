import { ApnsClient } from './vendor/apns.js';
import { FcmClient } from './vendor/fcm.js';
import { devices } from './mongo.js';

interface Device {
  _id: string;
  userId: string;
  platform: 'ios' | 'android';
  quietFrom?: number;
  quietTo?: number;
  tzOffsetMin: number;
}

const apns = new ApnsClient(process.env.APNS_KEY_FILE!);
const fcm = new FcmClient(process.env.FCM_SERVICE_ACCOUNT!);

export function isQuiet(d: Device, now: Date): boolean {
  if (d.quietFrom === undefined || d.quietTo === undefined) return false;
  const h = new Date(now.getTime() + d.tzOffsetMin * 60_000).getUTCHours();
  return d.quietFrom <= d.quietTo ? h >= d.quietFrom && h < d.quietTo : h >= d.quietFrom || h < d.quietTo;
}

export async function wake(userId: string, title: string, body: string): Promise<void> {
  for await (const d of devices.find({ userId }) as AsyncIterable<Device>) {
    if (isQuiet(d, new Date())) continue;
    const res = d.platform === 'ios' ? await apns.send(d._id, title, body) : await fcm.send(d._id, title, body);
    // app was uninstalled
    if (res === 'unregistered') await devices.deleteOne({ _id: d._id });
  }
}

export function badgeCount(unread: Record<string, number>, muted: Set<string>): number {
  return Object.entries(unread).reduce((n, [room, k]) => (muted.has(room) ? n : n + k), 0);
}
