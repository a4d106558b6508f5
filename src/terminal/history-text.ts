// The list of `kubelet history`. Pure. Texts are safe already.
import { parseTime, timeText } from './amounts.ts';
import type { EndedPod } from './plain-pod.ts';
import type { Screen } from './style.ts';
import { formatTable } from './table.ts';
import { fitTo } from './width.ts';

interface HistoryOptions {
  /** With the last lines of the log below each end. */
  readonly lines: boolean;
  readonly screen: Screen;
}

const header = ['TIME', 'POD', 'CONTAINER', 'CAUSE'];

export function historyText(ends: readonly EndedPod[], { lines, screen }: HistoryOptions): readonly string[] {
  if (ends.length === 0) return ['no ends are recorded'];
  const rows = ends.map(({ cause, container = '', exitCode, kind, namespace, pod, time }) => [
    timeText(parseTime(time) ?? Number.NaN),
    `${namespace}/${pod}`,
    container,
    { text: cause, tone: kind === 'exit' && exitCode === 0 ? undefined : ('bad' as const) },
  ]);
  const [head = '', ...table] = formatTable(header, rows, screen);
  return [head, ...table.flatMap((line, at) => [line, ...(lines ? lastLines(ends[at], screen) : [])])];
}

function lastLines(end: EndedPod | undefined, { columns }: Screen): readonly string[] {
  const shown = [...(end?.rule === undefined ? [] : [`rule: ${end.rule}`]), ...(end?.lastLines ?? [])];
  return shown
    .map((line) => `  | ${line}`)
    .map((line) => (columns === undefined ? line : fitTo(line, columns)));
}
