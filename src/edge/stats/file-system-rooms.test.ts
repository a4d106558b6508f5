import { expect, test } from 'vitest';
import type { FileSystemRoom } from '../../api/ports/host-usage.ts';
import { FileSystemRooms } from './file-system-rooms.ts';

test('a call for a path that hangs is joined, not started again', async () => {
  const started: string[] = [];
  let respond: (room: FileSystemRoom) => void = () => undefined;
  const rooms = new FileSystemRooms((path) => {
    started.push(path);
    return new Promise((resolve) => {
      respond = resolve;
    });
  });
  const first = rooms.room('/dead');
  const second = rooms.room('/dead');
  void rooms.room('/other');
  expect(started).toEqual(['/dead', '/other']);
  const room = { device: '1' } as FileSystemRoom;
  respond(room);
  expect(first).toBe(second);
});

test('a call after a response, or after a failure, starts again', async () => {
  let calls = 0;
  const rooms = new FileSystemRooms(() => {
    calls++;
    return Promise.reject(new Error('EIO'));
  });
  for (let count = 0; count < 3; count++) await expect(rooms.room('/disk')).rejects.toThrow('EIO');
  expect(calls).toBe(3);
});

test('two paths of one file system have the same device, and another file system has another', async () => {
  const rooms = new FileSystemRooms();
  const [tmp, same, proc] = await Promise.all(['/etc', '/etc/..', '/proc'].map((path) => rooms.room(path)));
  expect(tmp?.device).toBe(same?.device);
  expect(proc?.device).not.toBe(tmp?.device);
  expect(tmp?.capacityBytes).toBeGreaterThan(0);
});
