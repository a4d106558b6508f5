// The report's pod, of a kubelet that does not serve the stream of its page: from /pods, /explain and /explain/history. Pure.
import type { Pod } from '../api/k8s/types.ts';
import type { EndView } from '../api/ports/node-page.ts';
import { parseTime } from './amounts.ts';
import type { ReportedPod } from './pod-report.ts';
import { type ExplainedPod, type PodLine, podLines } from './pod-rows.ts';

/** Of GET /explain/history. */
export interface EndedPod {
  readonly id: string;
  readonly time: string;
  readonly kind: string;
  readonly namespace: string;
  readonly pod: string;
  readonly container?: string;
  readonly cause: string;
  readonly rule?: string;
  readonly exitCode?: number;
  readonly lastLines?: readonly string[];
}

const configSource = 'kubernetes.io/config.source';

export function plainPod(
  pod: Pod | undefined,
  explained: ExplainedPod | undefined,
  ends: readonly EndedPod[],
): ReportedPod {
  const [line] = podLines(pod === undefined ? [] : [pod], explained === undefined ? [] : [explained]);
  return {
    row: rowOf(line, pod),
    starts: [],
    probes: [],
    ends: ends.map(endView),
    containers: (line?.states ?? []).map((each) => ({
      ...each,
      id: '',
      hasPrevious: each.restarts > 0,
    })),
    volumes: (pod?.spec?.volumes ?? []).map((volume) => ({
      name: volume.name,
      kind: Object.keys(volume).find((key) => key !== 'name') ?? '',
      detail: '',
    })),
    events: (explained?.events ?? []).map(({ fieldPath = '', lastTimestamp, ...event }) => ({
      ...event,
      lastMs: parseTime(lastTimestamp) ?? 0,
      about: fieldPath,
    })),
  };
}

function rowOf(line: PodLine | undefined, pod: Pod | undefined): ReportedPod['row'] {
  const name = line?.pod ?? '';
  const slash = name.indexOf('/');
  const { createdMs, ip = '', lastRestartMs, sinceMs, tone = 'busy' } = line ?? {};
  return {
    uid: (line?.uid ?? '') as ReportedPod['row']['uid'],
    namespace: name.slice(0, slash),
    name: name.slice(slash + 1),
    status: line?.status ?? '',
    tone,
    sentence: line?.explanation ?? '',
    sinceMs,
    ready: line?.ready ?? 0,
    containers: line?.containers ?? 0,
    restarts: line?.restarts ?? 0,
    lastRestartMs,
    createdMs,
    ip,
    source: pod?.metadata?.annotations?.[configSource] ?? '',
  };
}

export function endView({ cause, container, exitCode, id, kind, lastLines, rule, time }: EndedPod): EndView {
  return { id, atMs: parseTime(time) ?? 0, kind, container, cause, rule, exitCode, lastLines };
}
