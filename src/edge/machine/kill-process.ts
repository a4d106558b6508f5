// Kills a leftover process. Invariant: never this process, nor PID 1.
import { errorCode } from '../syscalls/syscalls-errors.ts';

export function killProcess(pid: number): void {
  if (pid <= 1 || pid === process.pid) return;
  try {
    process.kill(pid, 'SIGKILL');
  } catch (err) {
    // The process ended before the kill.
    if (errorCode(err) !== 'ESRCH') throw err;
  }
}
