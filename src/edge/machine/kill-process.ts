// Ends a process that nobody else can end. Invariant: never this process, nor the first.
import { errorCode } from '../syscalls/syscalls-errors.ts';

export function killProcess(pid: number): void {
  if (pid <= 1 || pid === process.pid) return;
  try {
    process.kill(pid, 'SIGKILL');
  } catch (err) {
    // Gone between the reading and the kill: that is what was wanted.
    if (errorCode(err) !== 'ESRCH') throw err;
  }
}
