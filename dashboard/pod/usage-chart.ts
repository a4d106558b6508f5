// One plot by uPlot: a line over time, with the value under the cursor. Loaded on demand.
import UPlot from 'uplot';
import type { UsageKind } from '../data/usage-history.ts';
import { colourOf } from '../parts/spark.ts';
import { bytes, cpuMillis } from '../text/format.ts';

export interface UsageChart {
  set(timesMs: Float64Array, values: Float64Array): void;
  destroy(): void;
}

const height = 112;
const windowSeconds = 300;

export function createChart(box: HTMLElement, kind: UsageKind): UsageChart {
  const format = kind === 'cpu' ? cpuMillis : bytes;
  const line = colourOf(`--plot-${kind}`);
  const grid = { stroke: colourOf('--line'), width: 1 };
  const text = {
    stroke: colourOf('--muted'),
    font: '11px ui-sans-serif, system-ui, sans-serif',
    ticks: { show: false },
  };
  let top = niceTop(0, kind);
  const plot = new UPlot(
    {
      width: box.clientWidth,
      height,
      legend: { show: false },
      padding: [10, 4, 0, 0],
      cursor: { y: false, drag: { x: false, y: false }, points: { size: 6 } },
      scales: { x: { time: true, auto: false }, y: { auto: false } },
      axes: [
        {
          ...text,
          grid: { show: false },
          size: 20,
          space: 70,
          values: (_, seconds) => seconds.map((each) => clock(each).slice(0, 5)),
        },
        {
          ...text,
          grid,
          size: 62,
          gap: 4,
          splits: () => [0, top / 2, top],
          values: (_, splits) => splits.map((value) => format(value)),
        },
      ],
      series: [{}, { stroke: line, width: 1.5, fill: `${line}22`, spanGaps: false, points: { show: false } }],
      hooks: {
        setCursor: [
          (self) => {
            const at = self.cursor.idx;
            const value = at === null || at === undefined ? undefined : self.data[1]?.[at];
            box.dataset['cursor'] =
              at === null || at === undefined ? '' : `${format(value)} at ${clock(self.data[0]?.[at] ?? 0)}`;
          },
        ],
      },
    },
    [[], []],
    box,
  );
  const resize = new ResizeObserver(() => {
    if (box.clientWidth > 0) plot.setSize({ width: box.clientWidth, height });
  });
  resize.observe(box);
  return {
    set: (timesMs, values) => {
      const times = Array.from(timesMs, (ms) => ms / 1_000);
      plot.setData([times, Array.from(values, (value) => (Number.isNaN(value) ? null : value))], false);
      const last = times.at(-1) ?? 0;
      top = niceTop(Math.max(0, ...values.filter((value) => !Number.isNaN(value))), kind);
      plot.batch(() => {
        plot.setScale('x', { min: last - windowSeconds, max: last });
        plot.setScale('y', { min: 0, max: top });
      });
    },
    destroy: () => {
      resize.disconnect();
      plot.destroy();
    },
  };
}

/** A round number above the highest value, with the unit's own steps. */
function niceTop(most: number, kind: UsageKind): number {
  const least = kind === 'cpu' ? 20 : 4 * 1024 * 1024;
  const top = Math.max(least, most * 1.05);
  const unit = kind === 'cpu' ? 1 : 1024 ** Math.floor(Math.log2(top) / 10);
  const power = 10 ** Math.floor(Math.log10(top / unit));
  const factor = [1, 2, 4, 5, 8, 10].find((each) => each * power * unit >= top) ?? 10;
  return factor * power * unit;
}

function clock(seconds: number): string {
  const at = new Date(seconds * 1_000);
  const two = (value: number) => String(value).padStart(2, '0');
  return `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
}
