// Everything that reading containers' logs needs of the machine.
import { logIdentity, openLogFile, rotatedLogs } from './log-files.ts';
import { LogWatch, nextTurn } from './log-watch.ts';

export type LogEdges = ReturnType<typeof logEdges>;

export function logEdges() {
  const watch = new LogWatch();
  return {
    files: {
      open: openLogFile,
      rotated: rotatedLogs,
      identity: logIdentity,
      watch: (path: string, onChange: () => void) => watch.next(path, onChange),
    },
    nextTurn,
  };
}
