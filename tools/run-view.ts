// Formats the pods for `make run`: a table on a terminal, else one line per change. Pure.
import type { ContainerState, Pod } from '../src/api/k8s/types.ts';

export interface ViewRow {
  /** Unique: namespace/pod/container. */
  readonly key: string;
  readonly pod: string;
  readonly phase: string;
  readonly ip: string;
  readonly container: string;
  readonly state: string;
  /** When it entered this state; undefined if unknown. */
  readonly sinceMs: number | undefined;
  readonly restarts: number;
}

function sinceOf(time: string | undefined): number | undefined {
  const ms = time === undefined ? Number.NaN : Date.parse(time);
  return Number.isNaN(ms) ? undefined : ms;
}

function stateOf(state: ContainerState | undefined): {
  readonly text: string;
  readonly sinceMs: number | undefined;
} {
  if (state?.running !== undefined)
    return { text: 'Running', sinceMs: sinceOf(String(state.running.startedAt)) };
  if (state?.terminated !== undefined) {
    const { reason, exitCode, finishedAt } = state.terminated;
    return { text: `${reason ?? 'Terminated'} (${exitCode})`, sinceMs: sinceOf(String(finishedAt)) };
  }
  return { text: state?.waiting?.reason ?? 'Waiting', sinceMs: undefined };
}

/** One row per container, ordered by pod name. */
export function rowsOf(pods: readonly Pod[]): readonly ViewRow[] {
  return pods
    .flatMap((pod) => {
      const { namespace = 'default', name = '?' } = pod.metadata ?? {};
      const containers = [...(pod.spec?.initContainers ?? []), ...(pod.spec?.containers ?? [])];
      const statuses = [
        ...(pod.status?.initContainerStatuses ?? []),
        ...(pod.status?.containerStatuses ?? []),
      ];
      const deleted = pod.metadata?.deletionTimestamp !== undefined;
      return containers.map((container): ViewRow => {
        const status = statuses.find((one) => one.name === container.name);
        const { text, sinceMs } = stateOf(status?.state);
        return {
          key: `${namespace}/${name}/${container.name}`,
          pod: `${namespace}/${name}`,
          phase: deleted ? 'Terminating' : (pod.status?.phase ?? 'Pending'),
          ip: pod.status?.podIP ?? '',
          container: container.name,
          state: text,
          sinceMs,
          restarts: status?.restartCount ?? 0,
        };
      });
    })
    .sort((a, b) => (a.pod < b.pod ? -1 : a.pod > b.pod ? 1 : 0));
}

function age(sinceMs: number | undefined, nowMs: number): string {
  if (sinceMs === undefined) return '';
  const seconds = Math.max(0, Math.floor((nowMs - sinceMs) / 1000));
  return seconds < 120 ? `${seconds}s` : `${Math.floor(seconds / 60)}m`;
}

/** The table; the columns of a pod are filled in its first row only. */
export function tableOf(rows: readonly ViewRow[], nowMs: number): readonly string[] {
  if (rows.length === 0) return ['no pods'];
  const cells = rows.map((row, i) => {
    const first = rows[i - 1]?.pod !== row.pod;
    const own = first ? [row.pod, row.phase, row.ip] : ['', '', ''];
    return [...own, row.container, row.state, age(row.sinceMs, nowMs), String(row.restarts)];
  });
  const all = [['POD', 'PHASE', 'IP', 'CONTAINER', 'STATE', 'FOR', 'RESTARTS'], ...cells];
  const widths = all[0]?.map((_, column) => Math.max(...all.map((line) => line[column]?.length ?? 0))) ?? [];
  return all.map((line) =>
    line
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
}

/** One line per difference between two snapshots. */
export function changesBetween(before: readonly ViewRow[], after: readonly ViewRow[]): readonly string[] {
  const earlier = new Map(before.map((row) => [row.key, row]));
  const later = new Set(after.map((row) => row.key));
  const changed = after.flatMap((row) => {
    const old = earlier.get(row.key);
    const text = `${row.pod}: ${row.container} ${row.state}, restarts ${row.restarts}, pod ${row.phase}`;
    const same = old !== undefined && textOf(old) === textOf(row);
    return same ? [] : [row.ip === '' ? text : `${text} at ${row.ip}`];
  });
  const removed = before
    .filter((row) => !later.has(row.key))
    .map((row) => `${row.pod}: ${row.container} removed`);
  return [...changed, ...removed];
}

function textOf(row: ViewRow): string {
  return [row.state, row.restarts, row.phase, row.ip].join(' ');
}
