// The stages of a pod's start as bars of text. Pure. Texts are safe already.
// Invariant: no line is wider than the terminal; every stage has a bar of at least one character.
import type { PodStart, StartStage } from '../api/ports/node-page.ts';
import { spanText, timeText } from './amounts.ts';
import { paint, type Screen } from './style.ts';
import { fitTo, padTo, widthOf } from './width.ts';

const usualColumns = 80;
const longestBar = 40;
/** Room for what failed, if the terminal has it. */
const remarkColumns = 24;
const longestLabel = 30;
const mostStages = 200;

export function waterfall(start: PodStart, nowMs: number, screen: Screen): readonly string[] {
  const stages = start.stages.slice(0, mostStages);
  const ends = stages.map(({ endMs = nowMs }) => endMs);
  const endMs = Math.max(start.readyMs ?? 0, start.beginMs, ...ends);
  const labels = stages.map(labelOf);
  const labelWidth = Math.min(longestLabel, Math.max(0, ...labels.map(widthOf)));
  const spans = stages.map(({ beginMs, endMs: end = nowMs }) => spanText(end - beginMs));
  const spanWidth = Math.max(0, ...spans.map(widthOf));
  const columns = screen.columns ?? usualColumns;
  const remarks = stages.map(remark);
  const besideBar =
    labelWidth + spanWidth + 8 + Math.min(remarkColumns, Math.max(0, ...remarks.map(widthOf)));
  const barWidth = Math.max(1, Math.min(longestBar, columns - besideBar));
  const fit = (text: string): string => (screen.columns === undefined ? text : fitTo(text, screen.columns));
  const lines = stages.map((stage, at) => {
    const label = padTo(fitTo(labels[at] ?? '', labelWidth), labelWidth);
    const bar = barOf(stage, { beginMs: start.beginMs, endMs, nowMs }, barWidth);
    const span = (spans[at] ?? '').padStart(spanWidth);
    const plain = fit(`  ${label}  ${bar}  ${span}${remarks[at] ?? ''}`);
    const barAt = label.length + 4;
    const tone = stage.error !== undefined ? 'bad' : stage.endMs === undefined ? 'busy' : 'good';
    if (plain.length < barAt + bar.length) return plain;
    return plain.slice(0, barAt) + paint(bar, tone, screen) + plain.slice(barAt + bar.length);
  });
  return [fit(titleOf(start, nowMs)), ...lines];
}

function titleOf({ beginMs, from, readyMs, restartOf }: PodStart, nowMs: number): string {
  const what = restartOf === undefined ? 'Start' : `Restart of ${restartOf}`;
  const earlier = from === 'status' ? ' (of an earlier kubelet)' : '';
  if (readyMs !== undefined)
    return `${what} at ${timeText(beginMs)}, ready after ${spanText(readyMs - beginMs)}${earlier}`;
  // The times in the status are incomplete.
  return `${what} at ${timeText(beginMs)}${earlier || `, not ready after ${spanText(nowMs - beginMs)}`}`;
}

function labelOf({ container, stage }: StartStage): string {
  return container === undefined ? stage : `${stage} ${container}`;
}

function remark({ detail, endMs, error }: StartStage): string {
  if (error !== undefined) return `  failed: ${error}`;
  const more = detail === undefined ? '' : `  ${detail}`;
  return endMs === undefined ? `  in progress${more}` : more;
}

interface Frame {
  readonly beginMs: number;
  readonly endMs: number;
  readonly nowMs: number;
}

function barOf(stage: StartStage, { beginMs, endMs, nowMs }: Frame, width: number): string {
  const total = Math.max(1, endMs - beginMs);
  const column = (ms: number): number =>
    Math.min(width, Math.max(0, Math.round(((ms - beginMs) / total) * width)));
  const from = Math.min(width - 1, column(stage.beginMs));
  const to = Math.max(from + 1, column(stage.endMs ?? nowMs));
  const sign = stage.endMs === undefined ? '▒' : '█';
  return '·'.repeat(from) + sign.repeat(to - from) + '·'.repeat(width - to);
}
