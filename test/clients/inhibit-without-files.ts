// Takes an inhibitor lock without a free file descriptor, and prints how that fails.
import { closeSync, openSync } from 'node:fs';
import { realClock } from '../../src/base/clock.ts';
import { describeError } from '../../src/base/errors.ts';
import { takeInhibitorLock } from '../../src/edge/systemd/inhibitor-lock.ts';

const held: number[] = [];
try {
  for (;;) held.push(openSync('/dev/null', 'r'));
} catch {
  // The limit is reached.
}
const failure = takeInhibitorLock({ clock: realClock }).then(() => 'no failure', describeError);
for (const fd of held) closeSync(fd);
process.stdout.write(await failure);
