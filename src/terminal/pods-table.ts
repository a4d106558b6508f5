// The table of `kubelet ps`, and a line for each change. Pure.
import { parseTime, sinceText } from './amounts.ts';
import type { ContainerLine, PodLine } from './pod-rows.ts';
import type { Screen } from './style.ts';
import { type Cell, formatTable } from './table.ts';

const podHeader = ['POD', 'READY', 'STATUS', 'RESTARTS', 'AGE', 'IP'];

/** `wide`: a line for each container. */
export function podsTable(
  pods: readonly PodLine[],
  nowMs: number,
  { screen, wide }: { readonly wide: boolean; readonly screen: Screen },
): readonly string[] {
  if (pods.length === 0) return ['no pods'];
  if (!wide) {
    const rows = pods.map((pod) => [...podCells(pod, nowMs), explanationOf(pod, nowMs)]);
    return formatTable([...podHeader, 'EXPLANATION'], rows, screen);
  }
  const rows = pods.flatMap((pod) => {
    const [first, ...others] = pod.states;
    const head = [...podCells(pod, nowMs), ...containerCells(first, nowMs), explanationOf(pod, nowMs)];
    return [head, ...others.map((each) => [...podHeader.map(() => ''), ...containerCells(each, nowMs), ''])];
  });
  return formatTable([...podHeader, 'CONTAINER', 'STATE', 'FOR', 'EXPLANATION'], rows, screen);
}

function podCells(pod: PodLine, nowMs: number): readonly (string | Cell)[] {
  const ago = pod.lastRestartMs === undefined ? '' : ` (${sinceText(pod.lastRestartMs, nowMs)} ago)`;
  return [
    pod.pod,
    `${pod.ready}/${pod.containers}`,
    { text: pod.status, tone: pod.tone },
    `${pod.restarts}${ago}`,
    sinceText(pod.createdMs, nowMs),
    pod.ip,
  ];
}

function containerCells(line: ContainerLine | undefined, nowMs: number): readonly (string | Cell)[] {
  if (line === undefined) return ['', '', ''];
  return [line.name, { text: line.state, tone: line.tone }, sinceText(line.sinceMs, nowMs)];
}

function explanationOf({ explanation, sinceMs }: PodLine, nowMs: number): string {
  return sinceMs === undefined || explanation === ''
    ? explanation
    : `${explanation} (for ${sinceText(sinceMs, nowMs)})`;
}

/** One line for each difference between two lists. */
export function changesBetween(before: readonly PodLine[], after: readonly PodLine[]): readonly string[] {
  const earlier = changeLines(before);
  const later = changeLines(after);
  const changed = [...later].filter(([key, text]) => earlier.get(key) !== text).map(([, text]) => text);
  const removed = [...earlier.keys()].filter((key) => !later.has(key)).map((key) => `${key} removed`);
  return [...changed, ...removed];
}

function changeLines(pods: readonly PodLine[]): ReadonlyMap<string, string> {
  return new Map(
    pods.flatMap(({ ip, pod, states, status }) =>
      states.map(({ name, restarts, state }): [string, string] => [
        `${pod}: ${name}`,
        `${pod}: ${name} ${state}, restarts ${restarts}, pod ${status}${ip === '' ? '' : ` at ${ip}`}`,
      ]),
    ),
  );
}

/** For -o json. Times in RFC 3339, absent if unknown. */
export function podsJson(pods: readonly PodLine[]): unknown {
  return {
    items: pods.map(({ createdMs, lastRestartMs, pod, sinceMs, states, ...rest }) => ({
      namespace: pod.slice(0, pod.indexOf('/')),
      name: pod.slice(pod.indexOf('/') + 1),
      ...withoutTone(rest),
      ...timeField('lastRestart', lastRestartMs),
      ...timeField('created', createdMs),
      ...timeField('since', sinceMs),
      containerStates: states.map(({ sinceMs: ms, ...each }) => ({
        ...withoutTone(each),
        ...timeField('since', ms),
      })),
    })),
  };
}

function withoutTone<T extends { readonly tone: string }>(row: T): Omit<T, 'tone'> {
  const { tone: _tone, ...rest } = row;
  return rest;
}

function timeField(name: string, ms: number | undefined): Readonly<Record<string, string>> {
  const text = ms === undefined || Math.abs(ms) > 8.64e15 ? undefined : new Date(ms).toISOString();
  return parseTime(text) === undefined || text === undefined ? {} : { [name]: text };
}
