import { ulid } from 'ulid';
import { messages } from './mongo.js';

const EDIT_WINDOW_MS = 10 * 60_000;

export interface Message {
  _id: string;
  room: string;
  from: string;
  text: string;
  clientId: string;
  at: number;
  editedAt?: number;
  deleted?: boolean;
  readBy: string[];
}

/** clientId is chosen by the phone; a resend after a tunnel gives the same row. */
export async function post(room: string, from: string, text: string, clientId: string): Promise<Message> {
  const fresh: Message = { _id: ulid(), room, from, text, clientId, at: Date.now(), readBy: [from] };
  await messages.updateOne({ room, from, clientId }, { $setOnInsert: fresh }, { upsert: true });
  return (await messages.findOne({ room, from, clientId })) as unknown as Message;
}

export async function edit(id: string, from: string, text: string): Promise<boolean> {
  const res = await messages.updateOne(
    { _id: id, from, at: { $gt: Date.now() - EDIT_WINDOW_MS } },
    { $set: { text, editedAt: Date.now() } },
  );
  return res.modifiedCount === 1;
}

export async function tombstone(id: string, from: string): Promise<void> {
  await messages.updateOne({ _id: id, from }, { $set: { deleted: true, text: '' } });
}

export async function markRead(room: string, userId: string, upTo: string): Promise<void> {
  await messages.updateMany({ room, _id: { $lte: upTo } }, { $addToSet: { readBy: userId } });
}

export async function page(room: string, before?: string, size = 50): Promise<Message[]> {
  const q = before ? { room, _id: { $lt: before } } : { room };
  return (await messages.find(q).sort({ _id: -1 }).limit(size).toArray()) as unknown as Message[];
}
