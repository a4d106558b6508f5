// How early the kernel's out-of-memory killer takes this process. Upstream: pkg/util/oom.
import { open } from 'node:fs/promises';
import type { Clock } from '../../base/clock.ts';
import type { KubeletError } from '../../base/errors.ts';
import { hostError } from './syscalls-errors.ts';

export interface OomScoreOptions {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly pid?: number;
}

const tries = 2;
const retryMs = 100;

/** Lowering the score below what it was at the start needs CAP_SYS_RESOURCE. */
export async function applyOomScore(score: number, options: OomScoreOptions): Promise<void> {
  const { clock, signal, pid } = options;
  const path = `/proc/${pid ?? 'self'}/oom_score_adj`;
  for (let attempt = 1; ; attempt++) {
    const failure = await writeScore(path, score);
    if (failure === undefined) return;
    if (failure.kind === 'not-found' || attempt === tries) throw failure;
    await clock.sleep(retryMs, signal);
  }
}

async function writeScore(path: string, score: number): Promise<KubeletError | undefined> {
  try {
    // Neither created nor cut: it is no file of ours.
    const file = await open(path, 'r+');
    try {
      await file.write(String(score));
    } finally {
      await file.close();
    }
    return undefined;
  } catch (err) {
    return hostError(err, `cannot set ${path} to ${score}`, { path, score });
  }
}
