// Finds the cgroup driver: the one that the container runtime reports, since both must use the same, or else the configured one.
// Upstream: getCgroupDriverFromCRI in cmd/kubelet/app/server.go.

import { CgroupDriver } from '../api/cri/generated/runtime/v1/api.ts';
import { isUnimplemented } from '../api/cri/runtime.ts';
import type { Clock } from '../base/clock.ts';
import { KubeletError } from '../base/errors.ts';
import type { Logger } from '../base/log/log.ts';

interface RuntimeConfig {
  readonly linux?: { readonly cgroupDriver: CgroupDriver } | undefined;
}

/** The CRI call RuntimeConfig. */
export type RuntimeConfigCall = (signal: AbortSignal) => Promise<RuntimeConfig>;

interface CgroupDriverDeps {
  readonly runtimeConfig: RuntimeConfigCall;
  /** cgroupDriver of the configuration. */
  readonly configured: string;
  readonly clock: Pick<Clock, 'sleep'>;
  readonly signal: AbortSignal;
  readonly log: Logger;
}

const attempts = 3;
/** The runtime may still be starting. */
const retryMs = 2_000;

const names: Readonly<Partial<Record<CgroupDriver, string>>> = {
  [CgroupDriver.SYSTEMD]: 'systemd',
  [CgroupDriver.CGROUPFS]: 'cgroupfs',
};

/** What the runtime reports now; undefined if it lacks the call or the driver is unknown. */
export async function reportedCgroupDriver(call: () => Promise<RuntimeConfig>): Promise<string | undefined> {
  try {
    const { linux } = await call();
    return linux === undefined ? undefined : names[linux.cgroupDriver];
  } catch (err) {
    if (isUnimplemented(err)) return undefined;
    throw err;
  }
}

interface FoundDriver {
  readonly cgroupDriver: string;
  /** False if the runtime lacks the call. */
  readonly runtimeReportsConfig: boolean;
}

export async function findCgroupDriver(deps: CgroupDriverDeps): Promise<FoundDriver> {
  const { configured, log } = deps;
  const reported = await readRuntimeConfig(deps);
  const runtimeReportsConfig = reported !== 'unimplemented';
  if (reported === 'unimplemented' || reported?.linux === undefined)
    return { cgroupDriver: configured, runtimeReportsConfig };
  const { cgroupDriver } = reported.linux;
  const driver = names[cgroupDriver];
  if (driver === undefined)
    throw new KubeletError(
      'invalid',
      'CgroupDriver',
      `runtime returned an unknown cgroup driver ${cgroupDriver}`,
    );
  log.info('Using cgroup driver setting received from the CRI runtime', { cgroupDriver: driver });
  return { cgroupDriver: driver, runtimeReportsConfig };
}

async function readRuntimeConfig(
  deps: CgroupDriverDeps,
): Promise<RuntimeConfig | 'unimplemented' | undefined> {
  const { clock, configured, log, runtimeConfig, signal } = deps;
  for (let attempt = 1; ; attempt++) {
    try {
      return await runtimeConfig(signal);
    } catch (err) {
      // The caller stops; the driver no longer matters.
      if (signal.aborted) return undefined;
      if (isUnimplemented(err)) {
        const hint = 'upgrade the container runtime: Kubernetes 1.38 requires the CRI call RuntimeConfig';
        log.info('The runtime does not report its cgroup driver, using the configured one', {
          configured,
          hint,
        });
        return 'unimplemented';
      }
      if (attempt === attempts) {
        // differs from upstream, which fails to start: the kubelet and its static pods wait for the runtime.
        log.warn('Failed to read the cgroup driver from the runtime, using the configured one', {
          configured,
          err,
        });
        return undefined;
      }
      await clock.sleep(retryMs, signal).catch(() => undefined);
    }
  }
}
