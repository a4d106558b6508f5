// Decorators that record the durations of other components' calls.
import type { Pod } from '../api/k8s/types.ts';
import { type PodUid, podUid } from '../api/pod/pod-ref.ts';
import type { Cgroups } from '../api/ports/cgroups.ts';
import type { Clock } from '../base/clock.ts';

/** The operation types of upstream's metric. */
const cgroupOperations: Readonly<Record<string, string>> = {
  create: 'create',
  begin: 'create',
  update: 'update',
  // The usual removal of a pod's cgroup. A busy cgroup is removed later, and counts again.
  removeIdle: 'destroy',
  remove: 'destroy',
};

/** Measures how long cgroups take to be created, updated and destroyed. */
export function timedCgroups(
  cgroups: Cgroups | undefined,
  metrics: { cgroup(operation: string, seconds: number): void },
  clock: Pick<Clock, 'monotonic'>,
): Cgroups | undefined {
  if (cgroups === undefined) return undefined;
  return decorated(cgroups, (name, call) => {
    const operation = cgroupOperations[name];
    if (operation === undefined) return call;
    return async (...args) => {
      const startedMs = clock.monotonic();
      try {
        return await call(...args);
      } finally {
        metrics.cgroup(operation, (clock.monotonic() - startedMs) / 1_000);
      }
    };
  });
}

/** Records the time that pods wait for images, which is excluded from their start duration. */
export function timedImages<I extends object>(
  images: I,
  starts: { during<T>(uid: PodUid, pull: () => Promise<T>): Promise<T> },
): I {
  return decorated(images, (name, call) => {
    if (name !== 'ensure') return call;
    return (...args) => {
      const [request] = args as readonly [{ readonly pod: Pod }];
      return starts.during(podUid(request.pod), async () => await call(...args));
    };
  });
}

type Call = (...args: readonly unknown[]) => unknown;

/** The same object with each method replaced by what `decorate` returns for it. */
function decorated<T extends object>(target: T, decorate: (name: string, call: Call) => Call): T {
  return new Proxy(target, {
    get: (object, name) => {
      const member: unknown = Reflect.get(object, name, object);
      if (typeof member !== 'function' || typeof name !== 'string') return member;
      return decorate(name, member.bind(object) as Call);
    },
  });
}
