// Which probes a pod has, and their timing. Pure. Upstream: AddPod in pkg/kubelet/prober/prober_manager.go.
import type { Container, Pod, Probe } from '../api/k8s/types.ts';
import { longRunningContainers } from '../api/pod/find-container.ts';
import type { ProbeKind } from '../api/ports/probe-results.ts';

export interface ProbeSpec {
  readonly kind: ProbeKind;
  readonly container: Container;
  readonly probe: Probe;
}

interface ProbeTiming {
  readonly initialDelayMs: number;
  readonly periodMs: number;
  readonly timeoutSeconds: number;
  readonly successThreshold: number;
  readonly failureThreshold: number;
}

const probeKinds: readonly ProbeKind[] = ['startup', 'readiness', 'liveness'];

/** As events, logs and metrics name them. */
export const probeTitles: Readonly<Record<ProbeKind, string>> = {
  liveness: 'Liveness',
  readiness: 'Readiness',
  startup: 'Startup',
};

/** The probes of containers and of sidecars (restartable init containers); other init containers are not probed. */
export function probesOf(pod: Pod): readonly ProbeSpec[] {
  return longRunningContainers(pod).flatMap((container) =>
    probeKinds.flatMap((kind) => {
      const probe = probeOf(container, kind);
      return probe === undefined ? [] : [{ kind, container, probe }];
    }),
  );
}

function probeOf(container: Container, kind: ProbeKind): Probe | undefined {
  if (kind === 'startup') return container.startupProbe;
  return kind === 'liveness' ? container.livenessProbe : container.readinessProbe;
}

/** With the API's defaults where a field is absent or zero. */
export function timingOf(probe: Probe): ProbeTiming {
  return {
    initialDelayMs: (probe.initialDelaySeconds ?? 0) * 1_000,
    periodMs: (probe.periodSeconds || 10) * 1_000,
    timeoutSeconds: probe.timeoutSeconds || 1,
    successThreshold: probe.successThreshold || 1,
    failureThreshold: probe.failureThreshold || 3,
  };
}
