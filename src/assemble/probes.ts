// Probes: their requests, their checkpointed results, their reports.
import type { CriRuntime } from '../api/cri/runtime.ts';
import type { EventSink } from '../api/ports/events.ts';
import type { LoopDelay } from '../api/ports/loop-delay.ts';
import type { ProbeEdges } from '../api/ports/probe-requests.ts';
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log/log.ts';
import { podIpLookup } from '../probes/pod-ip.ts';
import { ProbeMetrics } from '../probes/probe-metrics.ts';
import { ProbeReports } from '../probes/probe-reports.ts';
import type { ProbeResults } from '../probes/probe-results.ts';
import { ProbeRuns } from '../probes/probe-runs.ts';
import { Probes, type ProbesDeps } from '../probes/probes.ts';
import { type CheckpointFile, ResultCheckpoint } from '../probes/result-checkpoint.ts';
import { probeRunner } from '../probes/run-probe.ts';

interface ProbesInput extends Pick<ProbesDeps, 'desired' | 'observed' | 'lifecycles' | 'apiPods'> {
  readonly results: ProbeResults;
  readonly edges: {
    readonly probes: ProbeEdges;
    readonly probeResultFile: (path: string) => CheckpointFile;
    readonly loopDelay: LoopDelay;
  };
  readonly cri: Pick<CriRuntime, 'execSync'>;
  readonly events: EventSink;
  readonly gates: { readonly ExecProbeTimeout: boolean };
  readonly rootDir: string;
  readonly nodeIps: () => readonly string[];
  readonly random: () => number;
  readonly clock: Clock;
  readonly log: Logger;
}

interface AssembledProbes {
  readonly probes: Probes;
  readonly metrics: ProbeMetrics;
  readonly runs: ProbeRuns;
}

export function assembleProbes(input: ProbesInput): AssembledProbes {
  const { apiPods, clock, cri, desired, edges, events, gates, lifecycles, log, observed, random, results } =
    input;
  const metrics = new ProbeMetrics();
  const runs = new ProbeRuns(clock);
  const { loopDelay, probes: requests } = edges;
  const probes = new Probes({
    desired,
    observed,
    lifecycles,
    apiPods,
    clock,
    worker: {
      run: probeRunner({ edges: requests, cri, timeoutFails: gates.ExecProbeTimeout, loopDelay, clock }),
      results,
      checkpoint: new ResultCheckpoint({
        file: edges.probeResultFile(`${input.rootDir}/probe_results`),
        clock,
        log,
      }),
      reports: new ProbeReports({ events, metrics, runs, log }),
      podIp: podIpLookup({ desired, observed, nodeIps: input.nodeIps }),
      clock,
      random,
    },
  });
  return { probes, metrics, runs };
}
