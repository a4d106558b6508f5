// Starts programs without a free file descriptor, and prints how each fails, one line each.
import { closeSync, openSync } from 'node:fs';
import { realClock } from '../../src/base/clock.ts';
import { describeError } from '../../src/base/errors.ts';
import { NodePrograms } from '../../src/edge/host-programs/host-programs.ts';
import { runCommand } from '../../src/edge/mount/mount-helper.ts';
import { takeInhibitorLock } from '../../src/edge/systemd/inhibitor-lock.ts';

const { signal } = new AbortController();
const held: number[] = [];
try {
  for (;;) held.push(openSync('/dev/null', 'r'));
} catch {
  // The limit is reached.
}
const failures = [
  takeInhibitorLock({ clock: realClock }),
  new NodePrograms().run({ program: '/bin/true', args: [], timeoutMs: 1_000 }, signal),
  runCommand('true', [], signal),
].map((work) => work.then(() => 'no failure', describeError));
for (const fd of held) closeSync(fd);
for (const failure of failures) console.log(await failure);
