// Container logs in memory, never rotated.
import type { LogFiles } from '../../src/server/logs/log-files.ts';

export function memoryLogs(files: ReadonlyMap<string, string>): LogFiles {
  return {
    open: async (path) => {
      const text = files.get(path);
      if (text === undefined) return undefined;
      const bytes = (): Buffer => Buffer.from(files.get(path) ?? '');
      return {
        identity: path,
        compressed: false,
        read: async (buffer, at) => bytes().copy(buffer, 0, at),
        size: async () => bytes().length,
        name: async () => path.slice(path.lastIndexOf('/') + 1),
        close: async () => undefined,
      };
    },
    rotated: async () => [],
    identity: async (path) => (files.has(path) ? path : undefined),
    watch: () => ({ close: () => undefined }),
  };
}
