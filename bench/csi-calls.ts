// The calls of a CSI driver for volumes, as intervals of the wall clock: by the driver's own log, and as its client sees them.
import type { CsiDriver } from '../integration/support/csi-driver.ts';
import type { CsiDriverClient } from '../src/api/ports/csi.ts';

/** Wall clock with fractions of a millisecond, comparable with the log of the driver. */
export const nowMs = (): number => performance.timeOrigin + performance.now();

export interface Interval {
  readonly fromMs: number;
  readonly toMs: number;
}

/** By volume handle. */
export type Calls = Map<string, readonly Interval[]>;

const methods: ReadonlySet<string> = new Set([
  'NodeStageVolume',
  'NodePublishVolume',
  'NodeUnpublishVolume',
  'NodeUnstageVolume',
]);

function add(calls: Calls, handle: string, call: Interval): void {
  calls.set(handle, [...(calls.get(handle) ?? []), call]);
}

/** By the driver's own log, whose times are whole milliseconds. */
export function loggedCalls(driver: CsiDriver): Calls {
  const calls: Calls = new Map();
  for (const { atMs, endMs = atMs, method, request } of driver.calls())
    if (methods.has(method))
      add(calls, (request as { readonly volumeId: string }).volumeId, { fromMs: atMs, toMs: endMs });
  return calls;
}

/** The same client; its calls for volumes are added when they end. */
export function observedClient(inner: CsiDriverClient, calls: Calls): CsiDriverClient {
  const noted =
    <Request extends { readonly volumeId: string }>(
      call: (request: Request, signal: AbortSignal) => Promise<void>,
    ) =>
    async (request: Request, signal: AbortSignal): Promise<void> => {
      const fromMs = nowMs();
      await call(request, signal);
      add(calls, request.volumeId, { fromMs, toMs: nowMs() });
    };
  return {
    driver: inner.driver,
    endpoint: inner.endpoint,
    capabilities: (...args) => inner.capabilities(...args),
    info: (signal) => inner.info(signal),
    stage: noted((request, signal) => inner.stage(request, signal)),
    publish: noted((request, signal) => inner.publish(request, signal)),
    unpublish: noted((request, signal) => inner.unpublish(request, signal)),
    unstage: noted((request, signal) => inner.unstage(request, signal)),
    expand: (...args) => inner.expand(...args),
    stats: (...args) => inner.stats(...args),
    volumeHealth: (...args) => inner.volumeHealth(...args),
    storageHealth: (...args) => inner.storageHealth(...args),
    close: () => inner.close(),
  };
}

/** How much of the span passed without a call for any of these volumes. */
export function withoutCallsMs({ fromMs, toMs }: Interval, handles: readonly string[], calls: Calls): number {
  const during = handles
    .flatMap((handle) => calls.get(handle) ?? [])
    .filter((call) => call.toMs > fromMs && call.fromMs < toMs)
    .sort((a, b) => a.fromMs - b.fromMs);
  let inCallsMs = 0;
  let endMs = fromMs;
  for (const call of during) {
    inCallsMs += Math.max(0, Math.min(call.toMs, toMs) - Math.max(call.fromMs, endMs));
    endMs = Math.max(endMs, call.toMs);
  }
  return toMs - fromMs - inCallsMs;
}
