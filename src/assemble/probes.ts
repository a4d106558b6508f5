// The room of the probes: what they ask with, what they remember, and what they tell.
import type { CriRuntime } from '../api/cri/runtime.ts';
import type { EventSink } from '../api/ports/events.ts';
import type { LoopDelay } from '../api/ports/loop-delay.ts';
import type { ProbeEdges } from '../api/ports/probe-requests.ts';
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log/log.ts';
import { type KeptFile, KeptResults } from '../probes/kept-results.ts';
import { ProbeMetrics } from '../probes/probe-metrics.ts';
import { ProbeReports } from '../probes/probe-reports.ts';
import type { ProbeResults } from '../probes/probe-results.ts';
import { Probes, type ProbesDeps } from '../probes/probes.ts';
import { runProbe } from '../probes/run-probe.ts';
import { computeAddresses } from '../status/pod-ips.ts';

interface ProbesInput extends Pick<ProbesDeps, 'desired' | 'observed' | 'lifecycles'> {
  readonly results: ProbeResults;
  readonly edges: {
    readonly probes: ProbeEdges;
    readonly probeResultFile: (path: string) => KeptFile;
    readonly loopDelay: LoopDelay;
  };
  readonly cri: Pick<CriRuntime, 'execSync'>;
  readonly events: EventSink;
  readonly gates: { readonly ExecProbeTimeout: boolean };
  readonly rootDir: string;
  readonly nodeIps: () => readonly string[];
  readonly clock: Clock;
  readonly log: Logger;
}

export function assembleProbes(input: ProbesInput): {
  readonly probes: Probes;
  readonly metrics: ProbeMetrics;
} {
  const { clock, cri, desired, edges, events, log, observed, results } = input;
  const metrics = new ProbeMetrics();
  const file = edges.probeResultFile(`${input.rootDir}/probe_results`);
  const { loopDelay } = edges;
  const asking = { edges: edges.probes, cri, slowFails: input.gates.ExecProbeTimeout, loopDelay, clock };
  const probes = new Probes({
    desired,
    observed,
    lifecycles: input.lifecycles,
    clock,
    worker: {
      run: (id, target, signal) => runProbe(asking, id, target, signal),
      results,
      kept: new KeptResults({ file, clock, log }),
      reports: new ProbeReports({ events, metrics, log }),
      podIp: (uid) => {
        const hostNetwork = desired.get(uid)?.pod.spec?.hostNetwork === true;
        return computeAddresses(observed.get(uid), hostNetwork, input.nodeIps(), {}).podIP;
      },
      clock,
      random: Math.random,
    },
  });
  return { probes, metrics };
}
