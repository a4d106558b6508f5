// Waiting for the outside world, which announces little: quick retries with a deadline and a reason.
import { setTimeout as sleep } from 'node:timers/promises';

/** How many times longer than usual everything may take, as on a machine that is emulated (tools/vm.sh). */
export const slowness = Math.max(1, Number(process.env['RIG_SLOWNESS'] ?? 1) || 1);

interface WaitOptions {
  readonly timeoutMs?: number;
  readonly everyMs?: number;
}

/**
 * Calls `probe` until it gives something other than undefined and false, and returns that.
 * What it throws counts as "not yet"; the last such error is told when the time is over.
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
        `waited ${timeoutMs} ms for ${what}`,
        lastError === undefined ? {} : { cause: lastError },
      );
    }
    await sleep(everyMs);
  }
}
