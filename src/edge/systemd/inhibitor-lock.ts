// Takes a delay lock of systemd-logind. Upstream: InhibitShutdown of pkg/kubelet/nodeshutdown/systemd.
// The lock is a file descriptor that D-Bus passes, which Node.js cannot receive: a systemd-inhibit process holds it. That ends
// when its standard input does, so that the lock never outlives the kubelet.
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import type { InhibitorLock } from '../../api/ports/logind.ts';
import { withDeadline } from '../../base/abort/deadline.ts';
import type { Clock } from '../../base/clock.ts';
import { KubeletError } from '../../base/errors.ts';

export interface InhibitOptions {
  readonly clock: Clock;
  /** Gives up the attempt, not the lock. */
  readonly signal?: AbortSignal;
  /** Default: `systemd-inhibit`. */
  readonly program?: string;
  readonly env?: NodeJS.ProcessEnv;
}

const takeMs = 10_000;
const releaseMs = 2_000;
const limitBytes = 4_096;
/** cat echoes the first byte once systemd-inhibit has the lock and started it. */
const inhibitArgs = [
  '--what=shutdown',
  '--mode=delay',
  '--who=kubelet',
  '--why=Kubelet needs time to handle node shutdown',
  'cat',
];

export async function takeInhibitorLock({
  clock,
  env = process.env,
  program = 'systemd-inhibit',
  signal,
}: InhibitOptions): Promise<InhibitorLock> {
  signal?.throwIfAborted();
  // In a session of its own: the signals of a terminal are for the kubelet.
  const child = spawn(program, inhibitArgs, { stdio: ['pipe', 'pipe', 'pipe'], env, detached: true });
  const ended = untilEnded(child);
  // Without free file descriptors it does not even have pipes.
  if (child.pid === undefined) throw new KubeletError('unavailable', 'NoInhibitorLock', await ended);
  child.stdin.on('error', () => undefined);
  child.stdin.write('\n');
  try {
    await withDeadline({ clock, ms: takeMs, signal, what: 'taking an inhibitor lock' }, async () => {
      const cause = await Promise.race([untilHeld(child), ended]);
      if (cause !== undefined) throw new KubeletError('unavailable', 'NoInhibitorLock', cause);
    });
  } catch (err) {
    child.kill('SIGKILL');
    throw err;
  }
  return {
    lost: ended,
    release: async () => {
      child.stdin.end();
      const timer = clock.setTimer(releaseMs, () => {
        child.kill('SIGKILL');
        // Its command may keep them open.
        child.stdout.destroy();
        child.stderr.destroy();
      });
      await ended;
      timer.cancel();
    },
  };
}

function untilHeld(child: ChildProcessWithoutNullStreams): Promise<undefined> {
  return new Promise((resolve) => child.stdout.once('data', () => resolve(undefined)));
}

/** Resolves with what the process reported. */
function untilEnded(child: ChildProcessWithoutNullStreams): Promise<string> {
  return new Promise((resolve) => {
    child.on('error', (err) => resolve(`cannot run systemd-inhibit: ${err.message}`));
    if (child.pid === undefined) return;
    let text = '';
    child.stderr.on('data', (chunk: Buffer) => {
      text += chunk.subarray(0, limitBytes - text.length).toString('utf8');
    });
    // Ends the command, too, if systemd-inhibit was killed.
    child.once('exit', () => child.stdin.destroy());
    child.once('close', (code, signal) =>
      resolve(
        `systemd-inhibit ended (${signal ?? `exit code ${code}`})${text === '' ? '' : `: ${text.trim()}`}`,
      ),
    );
  });
}
