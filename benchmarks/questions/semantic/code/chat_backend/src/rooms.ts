import { ulid } from 'ulid';
import { rooms } from './mongo.js';

export interface Room {
  _id: string;
  title: string;
  members: string[];
  admins: string[];
  maxMembers: number;
}

export async function createRoom(title: string, owner: string): Promise<Room> {
  const room: Room = { _id: ulid(), title, members: [owner], admins: [owner], maxMembers: 256 };
  await rooms.insertOne(room);
  return room;
}

export async function join(roomId: string, userId: string): Promise<boolean> {
  const res = await rooms.updateOne(
    { _id: roomId, $expr: { $lt: [{ $size: '$members' }, '$maxMembers'] } },
    { $addToSet: { members: userId } },
  );
  return res.matchedCount === 1;
}

export async function kick(roomId: string, by: string, userId: string): Promise<boolean> {
  const res = await rooms.updateOne({ _id: roomId, admins: by }, { $pull: { members: userId, admins: userId } });
  return res.modifiedCount === 1;
}

/** The last admin left: hand the room to whoever has been in it longest. */
export async function inherit(roomId: string): Promise<void> {
  const room = (await rooms.findOne({ _id: roomId })) as Room | null;
  if (!room || room.admins.length > 0) return;
  const heir = room.members[0];
  if (heir) await rooms.updateOne({ _id: roomId }, { $push: { admins: heir } });
  else await rooms.deleteOne({ _id: roomId });
}
