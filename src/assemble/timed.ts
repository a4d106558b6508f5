// Puts a watch on what others do, where they need not know of it.

import { podUid } from '../api/pod/pod-ref.ts';
import type { Cgroups } from '../api/ports/cgroups.ts';
import type { Clock } from '../base/clock.ts';
import type { PodStartMetrics } from '../metrics/pod-start-metrics.ts';
import type { WorkMetrics } from '../metrics/work-metrics.ts';
import type { RuntimeImages } from '../runtime/runtime-deps.ts';

/** In the words of upstream's metric. */
const cgroupWork: Readonly<Record<string, string>> = {
  create: 'create',
  begin: 'create',
  update: 'update',
  // The usual end of a pod's; one that is busy is removed later, and counts again.
  removeIdle: 'destroy',
  remove: 'destroy',
};

export function timedCgroups(
  cgroups: Cgroups | undefined,
  metrics: Pick<WorkMetrics, 'cgroup'>,
  clock: Pick<Clock, 'monotonic'>,
): Cgroups | undefined {
  if (cgroups === undefined) return undefined;
  return new Proxy(cgroups, {
    get: (target, name: keyof Cgroups) => {
      const part: unknown = target[name];
      if (typeof part !== 'function') return part;
      const call = part.bind(target) as (...args: readonly unknown[]) => unknown;
      const operation = cgroupWork[name];
      if (operation === undefined) return call;
      return async (...args: readonly unknown[]) => {
        const startedMs = clock.monotonic();
        try {
          return await call(...args);
        } finally {
          metrics.cgroup(operation, (clock.monotonic() - startedMs) / 1_000);
        }
      };
    },
  });
}

/** What pods wait for images does not count against their start. */
export function timedImages(images: RuntimeImages, starts: Pick<PodStartMetrics, 'during'>): RuntimeImages {
  return {
    find: (...args) => images.find(...args),
    retryInMs: (...args) => images.retryInMs(...args),
    forget: (...args) => images.forget(...args),
    ensure: (request, found, signal) =>
      starts.during(podUid(request.pod), () => images.ensure(request, found, signal)),
  };
}
