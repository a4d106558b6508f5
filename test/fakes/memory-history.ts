// The files of the history of ends in memory.
import type { HistoryFiles } from '../../src/history/segments.ts';

/** `alive`: false once the kubelet is killed, so that it writes nothing any more. */
export function memoryHistory(files: Map<string, Buffer>, alive: () => boolean = () => true): HistoryFiles {
  return {
    list: async () => [...files].map(([name, bytes]) => ({ name, size: bytes.length })),
    read: async (name, at, length) => files.get(name)?.subarray(at, at + length) ?? new Uint8Array(),
    append: async (name, bytes) => {
      if (alive()) files.set(name, Buffer.concat([files.get(name) ?? Buffer.alloc(0), bytes]));
    },
    remove: async (name) => void files.delete(name),
  };
}
