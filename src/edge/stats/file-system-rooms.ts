// The free space of file systems. Invariant: one call in flight per path. A hung file system, such as a dead NFS mount, keeps its
// thread of Node's pool until it responds; another call would take another of the few threads.
import { stat } from 'node:fs/promises';
import type { FileSystemRoom } from '../../api/ports/host-usage.ts';
import { fileSystemSpace } from '../volumes/usage/usage.ts';

type ReadRoom = (path: string) => Promise<FileSystemRoom>;

export class FileSystemRooms {
  readonly #read: ReadRoom;
  readonly #inFlight = new Map<string, Promise<FileSystemRoom>>();

  constructor(read: ReadRoom = readRoom) {
    this.#read = read;
  }

  room(path: string): Promise<FileSystemRoom> {
    const running = this.#inFlight.get(path);
    if (running !== undefined) return running;
    const started = this.#read(path).finally(() => this.#inFlight.delete(path));
    this.#inFlight.set(path, started);
    return started;
  }
}

/** One after the other, so that a path occupies one thread. */
async function readRoom(path: string): Promise<FileSystemRoom> {
  const space = await fileSystemSpace(path);
  return { ...space, device: String((await stat(path, { bigint: true })).dev) };
}
