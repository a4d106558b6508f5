// Where the log goes: to standard error. Invariant: a log that cannot be written does not end the kubelet, and its lines appear again
// as soon as it can. Upstream's logger ignores such errors as well.
import { fstatSync, writeSync } from 'node:fs';
import { isatty } from 'node:tty';

const standardError = 2;

/** `fd` is another file in tests. */
export function logOutput(fd = standardError): (line: string) => void {
  // The reader of a pipe may be gone.
  process.stderr.on('error', () => undefined);
  const stats = fstatSync(fd);
  // Node.js handles these without waiting. For files its stream throws when the disk is full, and then never writes again.
  if (stats.isFIFO() || stats.isSocket() || isatty(fd)) return (line) => void process.stderr.write(line);
  return (line) => {
    try {
      writeSync(fd, line);
    } catch {
      // The disk is full.
    }
  };
}
