// The file system of kept records in memory. Invariant: a kubelet that was killed changes nothing any more.
import type { DurableFiles } from '../../src/edge/autonomy/durable-files.ts';

interface Options {
  readonly isAlive?: () => boolean;
  /** Whether writing the path fails, as on a full disk. */
  readonly fails?: (path: string) => boolean;
  /** Whether reading and writing the path never end, as on a hung disk. */
  readonly hangs?: (path: string) => boolean;
}

const never = new Promise<never>(() => undefined);

export function memoryDurableFiles(files: Map<string, string>, options: Options = {}): DurableFiles {
  const { fails = () => false, hangs = () => false, isAlive = () => true } = options;
  const change = (act: () => void): void => {
    if (isAlive()) act();
  };
  return {
    makeDirectory: async () => undefined,
    list: async (directory) =>
      [...files.keys()]
        .filter((path) => path.slice(0, path.lastIndexOf('/')) === directory)
        .map((path) => path.slice(path.lastIndexOf('/') + 1)),
    read: async (path, limitBytes) => {
      if (hangs(path)) await never;
      const text = files.get(path);
      if (text !== undefined && text.length > limitBytes) throw new Error(`${path} is too long`);
      return text;
    },
    write: async (path, text) => {
      if (hangs(path)) await never;
      if (fails(path)) throw new Error(`cannot write ${path}: no space left on device`);
      change(() => files.set(path, text));
    },
    remove: async (path) => change(() => void files.delete(path)),
    move: async (path, to) =>
      change(() => {
        const text = files.get(path);
        files.delete(path);
        if (text !== undefined) files.set(to, text);
      }),
    removeTree: async (path) => {
      const below = [...files.keys()].filter((each) => each.startsWith(`${path}/`));
      change(() => below.forEach((each) => files.delete(each)));
      return below.length > 0;
    },
  };
}
