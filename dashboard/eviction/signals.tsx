// The eviction signals: what is available, of how much, and the thresholds as marks.
import type { ThresholdMark } from '../../src/api/ports/node-page.ts';
import { Bar } from '../parts/bar.tsx';
import { Status } from '../parts/mark.tsx';
import { Region } from '../parts/region.tsx';
import { visible } from '../text/visible.ts';
import { quantityValue, type SignalEntry, signalFormat } from './explanation.ts';

export function Signals({ signals }: { readonly signals: readonly SignalEntry[] }) {
  return (
    <Region name="Signals" count={signals.length} explain="threshold">
      {signals.length === 0 ? (
        <p class="empty">No eviction threshold is configured, so the kubelet evicts no pod for pressure.</p>
      ) : (
        <table class="data">
          <thead>
            <tr>
              <th scope="col">Signal</th>
              <th scope="col" class="number">
                Available
              </th>
              <th scope="col" class="number">
                Of
              </th>
              <th scope="col" class="wide-cell">
                Used, with thresholds
              </th>
              <th scope="col">Evicts below</th>
            </tr>
          </thead>
          <tbody>
            {signals.map((entry) => (
              <SignalRow key={entry.signal} entry={entry} />
            ))}
          </tbody>
        </table>
      )}
    </Region>
  );
}

function SignalRow({ entry: { available, capacity, signal, thresholds } }: { readonly entry: SignalEntry }) {
  const format = signalFormat(signal);
  const used = available === undefined || capacity === undefined ? undefined : capacity - available;
  const marks = thresholds.flatMap(({ kind, quantity }): readonly ThresholdMark[] => {
    const value = quantityValue(quantity);
    return value === undefined ? [] : [{ kind, signal, available: value }];
  });
  const text = `${format(available)} of ${format(capacity)} available`;
  return (
    <tr>
      <th scope="row">{visible(signal)}</th>
      <td class="number" data-label="available">
        {format(available)}
      </td>
      <td class="number" data-label="of">
        {format(capacity)}
      </td>
      <td class="wide-cell">
        {capacity !== undefined && (
          <Bar label={visible(signal)} used={used} capacity={capacity} thresholds={marks} text={text} />
        )}
      </td>
      <td data-label="evicts below">
        {thresholds.map(({ graceSeconds, kind, met, quantity }) => (
          <span key={`${kind}/${quantity}`} class="threshold">
            {format(quantityValue(quantity))} {kind === 'hard' ? 'at once' : `after ${graceSeconds} s`}
            {met && <Status text="met" tone="bad" />}
          </span>
        ))}
      </td>
    </tr>
  );
}
