// Calls to other programs that have not been answered yet.
import type { InFlightCall } from '../../src/api/ports/node-page.ts';
import { useNow } from '../data/use-page.ts';
import { Status } from '../parts/mark.tsx';
import { Region } from '../parts/region.tsx';
import { duration } from '../text/format.ts';
import { visible } from '../text/visible.ts';
import { callRows } from './calls.ts';

const targetWords: Readonly<Record<InFlightCall['to'], string>> = {
  runtime: 'Container runtime',
  images: 'Images of the runtime',
  'api-server': 'API server',
  csi: 'CSI driver',
  plugin: 'Plugin',
};

const shown = 50;

export function Calls({ calls }: { readonly calls: readonly InFlightCall[] }) {
  const nowMs = useNow();
  const rows = callRows(calls, nowMs);
  return (
    <Region name="Calls in flight" count={calls.length} explain="calls">
      {rows.length === 0 ? (
        <p class="empty">Every call has been answered.</p>
      ) : (
        <table class="data">
          <thead>
            <tr>
              <th scope="col">Call</th>
              <th scope="col">To</th>
              <th scope="col" class="number">
                Open for
              </th>
              <th scope="col" class="number">
                Gives up in
              </th>
            </tr>
          </thead>
          <tbody>
            {rows.slice(0, shown).map(({ ageMs, call: { deadlineMs, method, to }, isHanging }, at) => (
              <tr key={`${method}/${at}`} class={isHanging ? 'is-bad' : ''}>
                <td>
                  {visible(method)} {isHanging && <Status text="hangs" tone="bad" />}
                </td>
                <td>{targetWords[to] ?? to}</td>
                <td class="number">{duration(ageMs)}</td>
                <td class="number">{deadlineMs === undefined ? 'never' : duration(deadlineMs - nowMs)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </Region>
  );
}
