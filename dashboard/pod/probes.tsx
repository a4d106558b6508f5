// The results of each probe since it began, oldest at the left: a block per run of like results.
import type { ProbeKind, ProbeRun, ProbeStrip } from '../../src/api/ports/node-page.ts';
import { useNow } from '../data/use-page.ts';
import { Mark } from '../parts/mark.tsx';
import { Name } from '../parts/name.tsx';
import { Region } from '../parts/region.tsx';
import { duration, plural, timeOfDay } from '../text/format.ts';
import { visible, visibleLines } from '../text/visible.ts';
import { blocksOf, lastFailure, summaryOf, toneOf } from './probe-blocks.ts';

export function Probes({ strips }: { readonly strips: readonly ProbeStrip[] }) {
  return (
    <Region name="Probes">
      {strips.length === 0 && <p class="empty">No container of this pod has a probe.</p>}
      {strips.map((strip) => (
        <Strip key={`${strip.container}/${strip.kind}`} strip={strip} />
      ))}
    </Region>
  );
}

const kindWords: Readonly<Record<ProbeKind, string>> = {
  startup: 'Startup',
  readiness: 'Readiness',
  liveness: 'Liveness',
};

function Strip({ strip }: { readonly strip: ProbeStrip }) {
  const nowMs = useNow(60_000);
  const failure = lastFailure(strip);
  return (
    <div class="probe">
      <div class="probe-head">
        <Mark tone={toneOf(strip)} />
        <strong>{kindWords[strip.kind] ?? strip.kind}</strong>
        <span>
          <Name text={strip.container} longest={28} />
        </span>
        <span class="muted">{summaryOf(strip)}</span>
      </div>
      <ol class="probe-runs">
        {blocksOf(strip).map(({ grow, run, widestPx }) => (
          <li
            key={run.firstMs}
            class={`probe-run probe-${run.result}`}
            style={{ flexGrow: grow, maxWidth: `${widestPx}px` }}
            title={textOf(run, nowMs)}
          >
            <span class="visually-hidden">{textOf(run, nowMs)}</span>
          </li>
        ))}
      </ol>
      {failure?.output !== undefined && (
        <div class="probe-failure">
          <span class="muted">Last failure, {timeOfDay(failure.lastMs, nowMs)}</span>
          <pre class="output" role="group" tabIndex={0} aria-label="Output of the last failure">
            {visibleLines(failure.output)}
          </pre>
        </div>
      )}
    </div>
  );
}

const resultWords: Readonly<Record<ProbeRun['result'], string>> = {
  success: 'succeeded',
  failure: 'failed',
  unknown: 'without a result',
};

function textOf({ count, firstMs, lastMs, output, result, slowestMs }: ProbeRun, nowMs: number): string {
  const when = `${timeOfDay(firstMs, nowMs)} to ${timeOfDay(lastMs, nowMs)}`;
  const text = `${plural(count, 'run')} ${resultWords[result] ?? result}, ${when}, slowest ${duration(slowestMs)}`;
  return output === undefined || output === '' ? text : `${text}. ${visible(output)}`;
}
