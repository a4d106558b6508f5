// An attacker in a process of its own: swaps directories and files for links that lead out, as fast as the kernel lets it.
import { spawn } from 'node:child_process';
import { once } from 'node:events';

/** Says one line when it has begun; ends with a number: how often it swapped. */
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
  /** Ends it. Resolves to how often it swapped. */
  end(): Promise<number>;
  /** Ends it at once. */
  kill(): void;
}

/**
 * `pairs`: what is swapped, and the link that takes its place. `dwellMs`: how long each of them stays there. Resolves once it
 * has begun.
 */
export async function swapLinks(
  pairs: readonly (readonly [string, string])[],
  dwellMs = 0,
): Promise<LinkSwapper> {
  const args = [String(dwellMs), ...pairs.map(([good, evil]) => `${good}=${evil}`)];
  const child = spawn(process.execPath, ['-e', program, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
  let said = '';
  child.stdout.on('data', (text: Buffer) => {
    said += text.toString();
  });
  await once(child.stdout, 'data');
  return {
    async end() {
      child.kill('SIGTERM');
      if (child.exitCode === null) await once(child, 'close');
      return Number(said.trim().split('\n').at(-1));
    },
    kill: () => void child.kill('SIGKILL'),
  };
}
