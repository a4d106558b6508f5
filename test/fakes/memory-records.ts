// Record files in memory.
import type { RecordFiles } from '../../src/images/records/record-store.ts';

export function memoryRecords(files: Map<string, string>): RecordFiles {
  return {
    list: async (directory) =>
      [...files.keys()]
        .filter((path) => path.slice(0, path.lastIndexOf('/')) === directory)
        .map((path) => path.slice(path.lastIndexOf('/') + 1)),
    read: async (path, limitBytes = Number.POSITIVE_INFINITY) => {
      const text = files.get(path);
      if (text !== undefined && text.length > limitBytes) throw new Error(`${path} is too long`);
      return text;
    },
    write: async (path, text) => void files.set(path, text),
    remove: async (path) => void files.delete(path),
  };
}
