// Runs hostile network clients (flooder.ts) as processes. Each exits by itself after its time, even if its parent is
// dead.
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setPriority } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { repositoryRoot } from '../rig/repository.ts';
import type { FloodCounts } from './flooder.ts';

/** Returns the path of the built program. */
export function buildFlooder(): string {
  const cwd = repositoryRoot();
  execFileSync(process.execPath, ['tools/run-ts.mjs', 'integration/support/flooder.ts'], { cwd });
  return join(cwd, 'dist', 'scripts', 'flooder.mjs');
}

interface FloodOptions {
  /** The path from buildFlooder(). */
  readonly program: string;
  readonly shape: string;
  readonly port: number;
  readonly seconds: number;
  /** A loopback address, or `many` for one per connection. */
  readonly from?: string;
}

/** Resolves when the flood is over. Runs at low priority: the attack targets the kubelet, not the machine's CPUs. */
export async function flood(options: FloodOptions): Promise<FloodCounts> {
  const { from = '127.0.0.2', port, program, seconds, shape } = options;
  const child = spawn(process.execPath, [program, shape, String(port), String(seconds), from], {
    stdio: ['ignore', 'pipe', 'inherit'],
    timeout: seconds * 1_000 + 20_000,
    killSignal: 'SIGKILL',
  });
  const closed = once(child, 'close');
  const output = text(child.stdout);
  await once(child, 'spawn');
  if (child.pid !== undefined) setPriority(child.pid, 10);
  await closed;
  const counts = await output;
  if (child.exitCode !== 0 || counts === '')
    throw new Error(`the flooder exited with ${child.exitCode ?? child.signalCode} and printed '${counts}'`);
  return JSON.parse(counts) as FloodCounts;
}
