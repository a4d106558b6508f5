// Which driver of cgroups is used: the runtime's own, where it says so, since the two must agree; else the configured one.
// Upstream: getCgroupDriverFromCRI in cmd/kubelet/app/server.go.

import { CgroupDriver } from '../api/cri/generated/runtime/v1/api.ts';
import { isUnimplemented } from '../api/cri/runtime.ts';
import type { Clock } from '../base/clock.ts';
import { KubeletError } from '../base/errors.ts';
import type { Logger } from '../base/log/log.ts';

export interface CgroupDriverDeps {
  readonly runtimeConfig: (signal: AbortSignal) => Promise<{
    readonly linux?: { readonly cgroupDriver: CgroupDriver } | undefined;
  }>;
  /** cgroupDriver of the configuration. */
  readonly configured: string;
  readonly clock: Pick<Clock, 'sleep'>;
  readonly signal: AbortSignal;
  readonly log: Logger;
}

const tries = 3;
/** The runtime may still be starting. */
const pauseMs = 2_000;

const names: Readonly<Partial<Record<CgroupDriver, string>>> = {
  [CgroupDriver.SYSTEMD]: 'systemd',
  [CgroupDriver.CGROUPFS]: 'cgroupfs',
};

export async function findCgroupDriver(deps: CgroupDriverDeps): Promise<string> {
  const { configured, log } = deps;
  const answer = await ask(deps);
  if (answer?.linux === undefined) return configured;
  const { cgroupDriver } = answer.linux;
  const driver = names[cgroupDriver];
  if (driver === undefined)
    throw new KubeletError(
      'invalid',
      'CgroupDriver',
      `runtime returned an unknown cgroup driver ${cgroupDriver}`,
    );
  log.info('Using cgroup driver setting received from the CRI runtime', { cgroupDriver: driver });
  return driver;
}

async function ask(
  deps: CgroupDriverDeps,
): Promise<Awaited<ReturnType<CgroupDriverDeps['runtimeConfig']>> | undefined> {
  const { clock, configured, log, runtimeConfig, signal } = deps;
  for (let attempt = 1; ; attempt++) {
    try {
      return await runtimeConfig(signal);
    } catch (err) {
      // Whoever is asked to stop meanwhile does so in the usual way, with whatever driver.
      if (signal.aborted) return undefined;
      if (isUnimplemented(err)) {
        log.v(2).info('The runtime does not say which cgroup driver it uses', { configured });
        return undefined;
      }
      if (attempt === tries) {
        // differs from upstream, which gives up: static pods wait for the runtime, and the kubelet with them.
        log.warn('The runtime could not be asked which cgroup driver it uses', { configured, err });
        return undefined;
      }
      await clock.sleep(pauseMs, signal).catch(() => undefined);
    }
  }
}
