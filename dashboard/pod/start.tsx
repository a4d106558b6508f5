// The waterfall of a start: a table of stages, so that a screen reader reads stage, beginning and length, with a bar in it.
import { useState } from 'preact/hooks';
import type { PodStart } from '../../src/api/ports/node-page.ts';
import { useNow } from '../data/use-page.ts';
import { Mark } from '../parts/mark.tsx';
import { Name } from '../parts/name.tsx';
import { Region } from '../parts/region.tsx';
import { duration, timeOfDay } from '../text/format.ts';
import { visible } from '../text/visible.ts';
import { type Axis, type Lane, layOut, type Spender, spenderWords } from './lanes.ts';

export function Start({ starts }: { readonly starts: readonly PodStart[] }) {
  const [chosen, setChosen] = useState<number | undefined>(undefined);
  const start = starts.find(({ beginMs }) => beginMs === chosen) ?? starts[0];
  const isRunning = start?.stages.some(({ endMs }) => endMs === undefined) === true;
  const nowMs = useNow(isRunning ? 200 : 60_000);
  if (start === undefined)
    return (
      <Region name="Start">
        <p class="empty">The kubelet has recorded no start of this pod.</p>
      </Region>
    );
  const { axis, lanes } = layOut(start, nowMs);
  const tools = starts.length > 1 && (
    <select
      class="field"
      aria-label="Which start"
      value={start.beginMs}
      onChange={(event) => {
        setChosen(Number(event.currentTarget.value));
      }}
    >
      {starts.map((each) => (
        <option key={each.beginMs} value={each.beginMs}>
          {titleOf(each, nowMs)}
        </option>
      ))}
    </select>
  );
  return (
    <Region name="Start" tools={tools}>
      <p class="region-lead">
        {outcomeOf(start, nowMs)}
        {start.from === 'status' && (
          <span class="muted">
            {' '}
            An earlier kubelet process started it, so the stages are those that status and runtime recorded.
          </span>
        )}
      </p>
      <Waterfall axis={axis} lanes={lanes} />
      <Legend lanes={lanes} />
    </Region>
  );
}

function titleOf({ beginMs, restartOf }: PodStart, nowMs: number): string {
  const what = restartOf === undefined ? 'Start of the pod' : `Restart of ${visible(restartOf)}`;
  return `${what}, ${timeOfDay(beginMs, nowMs)}`;
}

function outcomeOf({ beginMs, readyMs, restartOf, stages }: PodStart, nowMs: number): string {
  const what = restartOf === undefined ? 'The pod' : `Container ${visible(restartOf)}`;
  const when = timeOfDay(beginMs, nowMs);
  if (readyMs !== undefined) return `${what} was ready ${duration(readyMs - beginMs)} after ${when}.`;
  if (stages.some(({ error }) => error !== undefined))
    return `${what} began to start at ${when}; a stage failed.`;
  return `${what} began to start at ${when} and is not ready yet.`;
}

function Waterfall({ axis, lanes }: { readonly axis: Axis; readonly lanes: readonly Lane[] }) {
  return (
    <table class="waterfall">
      <thead>
        <tr>
          <th scope="col">Stage</th>
          <th scope="col" class="w-track">
            <span class="visually-hidden">Begins after</span>
            <span class="w-axis" aria-hidden="true">
              {axis.ticks.map((tick) => (
                <span key={tick} class="w-tick" style={{ left: `${(100 * tick) / axis.spanMs}%` }}>
                  {tick === 0 ? '0' : tickText(tick, axis.spanMs)}
                </span>
              ))}
            </span>
          </th>
          <th scope="col" class="w-took">
            Took
          </th>
        </tr>
      </thead>
      {grouped(lanes).map((group) => (
        <tbody key={group[0]?.stage.container ?? ''}>
          {group[0]?.stage.container !== undefined && (
            <tr>
              <th colSpan={3} scope="rowgroup" class="w-container">
                <Name text={group[0].stage.container} longest={60} />
              </th>
            </tr>
          )}
          {group.map((lane, at) => (
            <LaneRow key={`${lane.stage.stage}/${at}`} lane={lane} axis={axis} />
          ))}
        </tbody>
      ))}
    </table>
  );
}

function grouped(lanes: readonly Lane[]): readonly (readonly Lane[])[] {
  const groups: Lane[][] = [];
  for (const lane of lanes) {
    if (lane.isFirst) groups.push([]);
    groups.at(-1)?.push(lane);
  }
  return groups;
}

/** All marks of an axis in one unit. */
function tickText(ms: number, spanMs: number): string {
  if (spanMs < 1_000) return `${ms} ms`;
  if (spanMs < 120_000) return `${ms / 1_000} s`;
  return duration(ms);
}

function LaneRow({ axis, lane }: { readonly lane: Lane; readonly axis: Axis }) {
  const { afterMs, inProgress, left, spender, stage, tookMs, width, words } = lane;
  const state = stage.error !== undefined ? ' w-failed' : inProgress ? ' w-running' : '';
  return (
    <tr>
      <th scope="row" class="w-stage">
        <span class={stage.container === undefined ? '' : 'w-inner'}>{words}</span>
      </th>
      <td class="w-track">
        <span class="visually-hidden">{duration(afterMs)}</span>
        <span class="w-lane" aria-hidden="true" title={titleOfLane(lane)}>
          {axis.ticks.map((tick) => (
            <span key={tick} class="w-grid" style={{ left: `${(100 * tick) / axis.spanMs}%` }} />
          ))}
          <span
            class={`w-bar w-${spender}${state}`}
            style={{ left: `${100 * left}%`, width: `${100 * width}%` }}
          />
        </span>
        {stage.error !== undefined && <span class="w-error">{visible(stage.error)}</span>}
      </td>
      <td class="w-took">
        {stage.error !== undefined && <Mark tone="bad" />}
        {duration(tookMs)}
        {inProgress && <span title="In progress"> …</span>}
        {stage.error !== undefined && <span class="visually-hidden"> failed</span>}
      </td>
    </tr>
  );
}

function titleOfLane({
  afterMs,
  inProgress,
  stage: { container, detail, error },
  tookMs,
  words,
}: Lane): string {
  const parts = [
    container === undefined ? words : `${words} (${visible(container)})`,
    `begins after ${duration(afterMs)}`,
    inProgress ? `in progress for ${duration(tookMs)}` : `took ${duration(tookMs)}`,
  ];
  if (detail !== undefined) parts.push(visible(detail));
  if (error !== undefined) parts.push(`failed: ${visible(error)}`);
  return parts.join('\n');
}

function Legend({ lanes }: { readonly lanes: readonly Lane[] }) {
  const used = new Set(lanes.map(({ spender }) => spender));
  return (
    <p class="legend" aria-hidden="true">
      {(Object.keys(spenderWords) as Spender[])
        .filter((spender) => used.has(spender))
        .map((spender) => (
          <span key={spender}>
            <span class={`legend-key w-${spender}`} /> {spenderWords[spender]}
          </span>
        ))}
      {lanes.some(({ inProgress }) => inProgress) && (
        <span>
          <span class="legend-key w-kubelet w-running" /> In progress
        </span>
      )}
      {lanes.some(({ stage }) => stage.error !== undefined) && (
        <span>
          <span class="legend-key w-failed" /> Failed
        </span>
      )}
    </p>
  );
}
