// Sets the OOM score adjustment of this process. Upstream: pkg/util/oom.
import { open } from 'node:fs/promises';
import { hostError } from '../syscalls/syscalls-errors.ts';

/**
 * Lowering the score below its initial value needs CAP_SYS_RESOURCE.
 * differs from upstream: no second attempt after 100 ms, which would fail like the first and delay every start on a host
 * that does not permit it.
 */
export async function applyOomScore(score: number, options: { readonly pid?: number } = {}): Promise<void> {
  const path = `/proc/${options.pid ?? 'self'}/oom_score_adj`;
  try {
    // A kernel file is neither created nor truncated.
    const file = await open(path, 'r+');
    try {
      await file.write(String(score));
    } finally {
      await file.close();
    }
  } catch (err) {
    throw hostError(err, `cannot set ${path} to ${score}`, { path, score });
  }
}
