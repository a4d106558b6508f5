// The report of `kubelet explain POD`. Pure. Texts are safe already.
import type {
  ContainerView,
  EndView,
  EventView,
  PodDetail,
  ProbeRun,
  ProbeStrip,
  VolumeView,
} from '../api/ports/node-page.ts';
import { sinceText, spanText, timeText } from './amounts.ts';
import { paint, type Screen } from './style.ts';
import { formatTable } from './table.ts';
import { waterfall } from './waterfall.ts';
import { fitTo } from './width.ts';

/** What the report needs: the kubelet may not know whether a volume is mounted. */
export interface ReportedPod extends Omit<PodDetail, 'pod' | 'volumes'> {
  readonly volumes: readonly (Omit<VolumeView, 'mounted'> & { readonly mounted?: boolean })[];
}

const mostStarts = 3;
const mostRuns = 8;
const mostEnds = 3;

export function podReport(pod: ReportedPod, nowMs: number, screen: Screen): readonly string[] {
  const inner = {
    ...screen,
    columns: screen.columns === undefined ? undefined : Math.max(1, screen.columns - 2),
  };
  const section = (title: string, lines: readonly string[]): readonly string[] =>
    lines.length === 0 ? [] : ['', paint(title, 'heading', screen), ...lines.map((line) => `  ${line}`)];
  const starts = pod.starts.slice(0, mostStarts).map((start) => ['', ...waterfall(start, nowMs, screen)]);
  return [
    ...summary(pod, nowMs, screen),
    ...section('CONTAINERS', containerLines(pod.containers, nowMs, inner)),
    ...starts.flat(),
    ...section(
      'PROBES',
      pod.probes.map((each) => fit(probeLine(each, nowMs), inner)),
    ),
    ...section('VOLUMES', volumeLines(pod.volumes, inner)),
    ...section(
      'LAST ENDS',
      pod.ends.slice(0, mostEnds).flatMap((end) => endLines(end, inner)),
    ),
    ...section('EVENTS', eventLines(pod.events, nowMs, inner)),
    ...(pod.note === undefined ? [] : ['', fit(pod.note, screen)]),
  ];
}

function fit(text: string, { columns }: Screen): string {
  return columns === undefined ? text : fitTo(text, columns);
}

function summary({ row }: ReportedPod, nowMs: number, screen: Screen): readonly string[] {
  const facts = [
    `${row.ready}/${row.containers} ready`,
    `${row.restarts} ${row.restarts === 1 ? 'restart' : 'restarts'}`,
    ...(row.createdMs === undefined ? [] : [`age ${sinceText(row.createdMs, nowMs)}`]),
    ...(row.ip === '' ? [] : [row.ip]),
    ...(row.source === '' ? [] : [`from ${row.source}`]),
  ];
  const since =
    row.sinceMs === undefined ? '' : `for ${sinceText(row.sinceMs, nowMs)}, since ${timeText(row.sinceMs)}`;
  return [
    `${paint(`${row.namespace}/${row.name}`, 'heading', screen)}   ${paint(row.status, row.tone, screen)}`,
    fit(facts.join(', '), screen),
    '',
    ...(row.sentence === '' ? [] : [row.sentence]),
    ...(since === '' ? [] : [since]),
  ];
}

function containerLines(
  containers: readonly ContainerView[],
  nowMs: number,
  screen: Screen,
): readonly string[] {
  if (containers.length === 0) return [];
  const rows = containers.map((each) => [
    each.name,
    each.role,
    { text: each.state, tone: each.tone },
    sinceText(each.sinceMs, nowMs),
    each.ready ? 'yes' : 'no',
    String(each.restarts),
    each.backoffUntilMs === undefined || each.backoffUntilMs <= nowMs
      ? ''
      : `in ${spanText(each.backoffUntilMs - nowMs)}`,
    each.lastEnd ?? '',
  ]);
  return formatTable(
    ['NAME', 'ROLE', 'STATE', 'FOR', 'READY', 'RESTARTS', 'NEXT START', 'LAST END'],
    rows,
    screen,
  );
}

const results: Readonly<Record<ProbeRun['result'], string>> = {
  success: 'ok',
  failure: 'failed',
  unknown: 'unknown',
};

function probeLine({ container, kind, periodSeconds, runs }: ProbeStrip, nowMs: number): string {
  const shown = runs.slice(-mostRuns).map(({ count, result }) => `${results[result]} ×${count}`);
  const failure = runs.findLast(({ result }) => result === 'failure');
  const last =
    failure === undefined ? '' : `; failed ${sinceText(failure.lastMs, nowMs)} ago: ${failure.output ?? ''}`;
  return `${kind} of ${container}, every ${periodSeconds}s: ${shown.join(', ') || 'no result yet'}${last}`;
}

function volumeLines(volumes: ReportedPod['volumes'], screen: Screen): readonly string[] {
  if (volumes.length === 0) return [];
  const rows = volumes.map(({ detail, kind, mounted, name }) => [
    name,
    kind,
    mounted === undefined ? '' : mounted ? 'mounted' : { text: 'not mounted', tone: 'busy' as const },
    detail,
  ]);
  return formatTable(['NAME', 'KIND', 'STATE', 'DETAIL'], rows, screen);
}

function endLines({ atMs, cause, lastLines = [], rule }: EndView, screen: Screen): readonly string[] {
  const lines = [`${timeText(atMs)}  ${cause}`, ...(rule === undefined ? [] : [`  rule: ${rule}`])];
  return [...lines, ...lastLines.map((line) => `  | ${line}`)].map((line) => fit(line, screen));
}

function eventLines(events: readonly EventView[], nowMs: number, screen: Screen): readonly string[] {
  if (events.length === 0) return [];
  const rows = events.map(({ about, count, lastMs, message, reason, type }) => [
    sinceText(lastMs, nowMs),
    { text: type, tone: type === 'Warning' ? ('bad' as const) : undefined },
    reason,
    String(count),
    about,
    message,
  ]);
  return formatTable(['LAST', 'TYPE', 'REASON', 'COUNT', 'ABOUT', 'MESSAGE'], rows, screen);
}
