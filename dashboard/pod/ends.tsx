// How containers of the pod and earlier pods of its name ended, from the history that survives restarts.
import type { EndView } from '../../src/api/ports/node-page.ts';
import { Name } from '../parts/name.tsx';
import { Region } from '../parts/region.tsx';
import { Ago, At } from '../parts/when.tsx';
import { visible, visibleLines } from '../text/visible.ts';

export function Ends({ ends }: { readonly ends: readonly EndView[] }) {
  return (
    <Region name="Ends" count={ends.length}>
      {ends.length === 0 && <p class="empty">No container of this pod has ended.</p>}
      <ol class="ends">
        {ends.map((end, at) => (
          <End key={end.id} end={end} isNewest={at === 0} />
        ))}
      </ol>
    </Region>
  );
}

function End({ end, isNewest }: { readonly end: EndView; readonly isNewest: boolean }) {
  const { atMs, cause, container, exitCode, kind, lastLines, rule } = end;
  return (
    <li class="end">
      <p class="end-head">
        <strong>{container === undefined ? visible(kind) : <Name text={container} longest={32} />}</strong>
        {exitCode !== undefined && (
          <span
            class={exitCode === 0 ? 'chip' : 'chip chip-bad'}
            title="Exit code; above 128 it is 128 plus the signal"
          >
            exit {exitCode}
          </span>
        )}
        {rule !== undefined && (
          <span class="chip" title="The rule of the kubelet that ended it">
            {visible(rule)}
          </span>
        )}
        <span class="muted end-when">
          <At atMs={atMs} />, <Ago atMs={atMs} /> ago
        </span>
      </p>
      <p>{visible(cause)}</p>
      {lastLines !== undefined && lastLines.length > 0 && (
        <details open={isNewest}>
          <summary>Last {lastLines.length === 1 ? 'line' : `${lastLines.length} lines`} of its log</summary>
          <pre class="output" role="group" tabIndex={0} aria-label="Last lines of the log">
            {visibleLines(lastLines.join('\n'))}
          </pre>
        </details>
      )}
    </li>
  );
}
