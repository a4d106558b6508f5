// The kubelet's loops and their queues.
import type { LoopView } from '../../src/api/ports/node-page.ts';
import { Region } from '../parts/region.tsx';
import { duration } from '../text/format.ts';
import { visible } from '../text/visible.ts';

export function Loops({ loops }: { readonly loops: readonly LoopView[] }) {
  return (
    <Region name="Loops" count={loops.length} explain="loops">
      <table class="data">
        <thead>
          <tr>
            <th scope="col">Loop</th>
            <th scope="col" class="number" title="Keys that run now">
              Run
            </th>
            <th scope="col" class="number" title="Keys that wait for a worker">
              Queued
            </th>
            <th scope="col" class="number" title="Keys that wait after a failure">
              Back off
            </th>
            <th scope="col" class="loop-longest">
              Longest run
            </th>
          </tr>
        </thead>
        <tbody>
          {loops.map(({ backingOff, name, oldestKey, oldestRunMs, queued, running }) => (
            <tr key={name}>
              <th scope="row">{visible(name)}</th>
              <td class={running === 0 ? 'number is-zero' : 'number'}>{running}</td>
              <td class={queued === 0 ? 'number is-zero' : 'number'}>{queued}</td>
              <td class={backingOff === 0 ? 'number is-zero' : 'number tone-busy'}>{backingOff}</td>
              <td class="one-line" {...(oldestKey === undefined ? {} : { title: visible(oldestKey) })}>
                {oldestRunMs !== undefined && duration(oldestRunMs)}
                {oldestKey !== undefined && <small> {visible(oldestKey)}</small>}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </Region>
  );
}
