// A bar of what is used of a capacity, with the eviction thresholds as marks: pods are evicted when the bar reaches one.
import type { ThresholdMark } from '../../src/api/ports/node-page.ts';

interface BarProps {
  readonly label: string;
  readonly used: number | undefined;
  readonly capacity: number;
  readonly thresholds?: readonly ThresholdMark[];
  /** For tooltip and screen reader: the figures in words. */
  readonly text: string;
}

export function Bar({ capacity, label, text, thresholds = [], used }: BarProps) {
  const share = used === undefined || capacity <= 0 ? 0 : Math.min(1, Math.max(0, used / capacity));
  const marks = thresholds.filter(({ available }) => capacity > 0 && available <= capacity);
  return (
    <div
      class={`bar tone-${barTone(used, capacity, marks)}`}
      role="meter"
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={Math.round(share * 100)}
      aria-valuetext={text}
      title={text}
    >
      <span class="bar-track">
        <span class="bar-fill" style={{ width: `${share * 100}%` }} />
      </span>
      {marks.map(({ available, kind, signal }) => (
        <span
          key={`${signal}/${kind}`}
          class={`bar-mark bar-mark-${kind}`}
          style={{ left: `${100 * (1 - available / capacity)}%` }}
        />
      ))}
    </div>
  );
}

/** Bad beyond a hard threshold, busy beyond a soft one or within a twentieth of the capacity. */
function barTone(
  used: number | undefined,
  capacity: number,
  thresholds: readonly ThresholdMark[],
): 'plain' | 'busy' | 'bad' {
  if (used === undefined) return 'plain';
  const available = capacity - used;
  if (thresholds.some((each) => each.kind === 'hard' && available < each.available)) return 'bad';
  const isNear = thresholds.some(({ available: limit }) => available < limit + capacity / 20);
  return isNear ? 'busy' : 'plain';
}
