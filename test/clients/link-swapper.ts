// An attacker in a process of its own: swaps directories and files for symbolic links that lead outside, as fast as it
// can.
import { spawn } from 'node:child_process';
import { once } from 'node:events';

/** Prints a line when it has begun, and the number of swaps at its end. */
const program = `
const { renameSync } = require('node:fs');
const [dwellMs, ...args] = process.argv.slice(1);
const pairs = args.map((each) => each.split('='));
const dwell = () => { for (const end = performance.now() + Number(dwellMs); performance.now() < end; ); };
const move = (from, to) => { try { renameSync(from, to); } catch { return; } };
let swaps = 0, over = false;
process.on('SIGTERM', () => { over = true; });
console.log('begun');
const turn = () => {
  for (let at = 0; at < 20; at++) {
    for (const [good, evil] of pairs) { move(good, good + '.kept'); move(evil, good); }
    dwell();
    for (const [good, evil] of pairs) { move(good, evil); move(good + '.kept', good); }
    dwell();
    swaps++;
  }
  if (over) { console.log(swaps); process.exit(0); }
  setImmediate(turn);
};
turn();
`;

export interface LinkSwapper {
  /** Ends it. Resolves to the number of swaps. */
  end(): Promise<number>;
  /** Ends it at once. */
  kill(): void;
}

/**
 * `pairs`: a path and the link that replaces it. `dwellMs`: how long each of the two stays in place. Resolves once the
 * swapping has begun.
 */
export async function swapLinks(
  pairs: readonly (readonly [string, string])[],
  dwellMs = 0,
): Promise<LinkSwapper> {
  const args = [String(dwellMs), ...pairs.map(([good, evil]) => `${good}=${evil}`)];
  const child = spawn(process.execPath, ['-e', program, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
  let output = '';
  child.stdout.on('data', (text: Buffer) => {
    output += text.toString();
  });
  await once(child.stdout, 'data');
  return {
    async end() {
      child.kill('SIGTERM');
      if (child.exitCode === null) await once(child, 'close');
      return Number(output.trim().split('\n').at(-1));
    },
    kill: () => void child.kill('SIGKILL'),
  };
}
