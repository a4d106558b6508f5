// Polls the outside world, with a deadline and a description of the wait.
import { setTimeout as sleep } from 'node:timers/promises';

/** Factor of all timeouts, for emulated machines (tools/vm.sh). */
export const slowness = Math.max(1, Number(process.env['RIG_SLOWNESS'] ?? 1) || 1);

interface WaitOptions {
  readonly timeoutMs?: number;
  readonly everyMs?: number;
}

/**
 * Calls `probe` until it returns something other than undefined and false, and returns that. An error counts as "not
 * yet"; the last one is the cause of the timeout error.
 */
export async function waitFor<T>(
  probe: () => T | Promise<T>,
  what: string,
  options: WaitOptions | number = {},
): Promise<Exclude<T, undefined | false>> {
  const { timeoutMs: usualMs = 30_000, everyMs = 20 } =
    typeof options === 'number' ? { timeoutMs: options } : options;
  const timeoutMs = usualMs * slowness;
  const deadlineMs = performance.now() + timeoutMs;
  let lastError: unknown;
  for (;;) {
    try {
      const value = await probe();
      if (value !== undefined && value !== false) return value as Exclude<T, undefined | false>;
      lastError = undefined;
    } catch (err) {
      lastError = err;
    }
    if (performance.now() >= deadlineMs) {
      throw new Error(
        `timed out after ${timeoutMs} ms waiting for ${what}`,
        lastError === undefined ? {} : { cause: lastError },
      );
    }
    await sleep(everyMs);
  }
}
