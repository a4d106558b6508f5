// One gauge per resource: the figure, a plot or second bar, a bar with thresholds, and what it means in words.
import { useEffect, useRef } from 'preact/hooks';
import type { DiskView, NodeView } from '../../src/api/ports/node-page.ts';
import { nodeKey, type UsageKind } from '../data/usage-history.ts';
import { useEverySample, usePage, useSamples } from '../data/use-page.ts';
import { Bar } from '../parts/bar.tsx';
import { drawSpark } from '../parts/spark.ts';
import { Term } from '../parts/term.tsx';
import { themeChanged } from '../shell/theme.ts';
import { bytes, cores, count, percent } from '../text/format.ts';
import { visible } from '../text/visible.ts';
import { ofSignal, thresholdNote } from './thresholds.ts';

export function CpuGauge({ cpu }: { readonly cpu: NodeView['cpu'] }) {
  const usedMillis = useNodeUsage('cpu');
  const used = Number.isNaN(usedMillis) ? undefined : usedMillis;
  const text = `${cores(used)} of ${cores(cpu.capacityMillis)} cores in use, ${cores(cpu.allocatableMillis)} allocatable`;
  return (
    <div class="gauge">
      <div class="gauge-head">
        <Term of="nodeCpu" />
        <span>{used === undefined ? '' : percent(used, cpu.capacityMillis)}</span>
      </div>
      <p class="gauge-value">
        {cores(used)} <small>of {cores(cpu.capacityMillis)} cores</small>
      </p>
      <NodePlot kind="cpu" atLeast={cpu.capacityMillis / 4} label={`Plot of CPU. Now ${text}`} />
      <Bar label="CPU" used={used} capacity={cpu.capacityMillis} text={text} />
      <p class="gauge-note">{cores(cpu.allocatableMillis)} cores allocatable to pods</p>
    </div>
  );
}

export function MemoryGauge({ memory }: { readonly memory: NodeView['memory'] }) {
  const sampled = useNodeUsage('memory');
  const { availableBytes, capacityBytes } = memory;
  const measured = Number.isNaN(sampled) ? undefined : sampled;
  const used = availableBytes === undefined ? measured : capacityBytes - availableBytes;
  const thresholds = ofSignal(memory.thresholds, 'memory.available');
  const note = thresholdNote(thresholds, bytes);
  const text = `${bytes(used)} of ${bytes(capacityBytes)} in use, ${bytes(availableBytes)} available. ${note}`;
  return (
    <div class="gauge">
      <div class="gauge-head">
        <Term of="nodeMemory" />
        <span>{used === undefined ? '' : percent(used, capacityBytes)}</span>
      </div>
      <p class="gauge-value">
        {bytes(used)} <small>of {bytes(capacityBytes)}</small>
      </p>
      <NodePlot kind="memory" atLeast={capacityBytes} label={`Plot of memory. Now ${text}`} />
      <Bar label="Memory" used={used} capacity={capacityBytes} thresholds={thresholds} text={text} />
      <p class="gauge-note" title={note}>
        {note}
      </p>
    </div>
  );
}

export function DiskGauge({ disk }: { readonly disk: DiskView }) {
  const { availableBytes, capacityBytes, inodes, inodesFree, name } = disk;
  const [used, usedInodes] = [capacityBytes - availableBytes, inodes - inodesFree];
  const space = disk.thresholds.filter(({ signal }) => !signal.endsWith('inodesFree'));
  const files = disk.thresholds.filter(({ signal }) => signal.endsWith('inodesFree'));
  const note = thresholdNote(space, bytes);
  const spaceText = `${bytes(used)} of ${bytes(capacityBytes)} used, ${bytes(availableBytes)} available. ${note}`;
  const inodeText = `${count(usedInodes)} of ${count(inodes)} inodes used. ${thresholdNote(files, count)}`;
  return (
    <div class="gauge">
      <div class="gauge-head">
        <Term of="disk">{visible(name)}</Term>
        <span>{percent(used, capacityBytes)}</span>
      </div>
      <p class="gauge-value">
        {bytes(used)} <small>of {bytes(capacityBytes)}</small>
      </p>
      <Bar
        label={`${visible(name)} space`}
        used={used}
        capacity={capacityBytes}
        thresholds={space}
        text={spaceText}
      />
      <p class="gauge-note" title={note}>
        {note}
      </p>
      {inodes > 0 && (
        <>
          <Bar
            label={`${visible(name)} inodes`}
            used={usedInodes}
            capacity={inodes}
            thresholds={files}
            text={inodeText}
          />
          <p class="gauge-note" title={inodeText}>
            <Term of="inodes" /> {percent(usedInodes, inodes)} of {short(inodes)}
          </p>
        </>
      )}
    </div>
  );
}

function short(value: number): string {
  return value >= 1e6 ? `${(value / 1e6).toFixed(1)} M` : count(value);
}

/** The newest value; the component is drawn again after every sample. */
function useNodeUsage(kind: UsageKind): number {
  const { page } = usePage();
  useEverySample();
  return page.history.now(nodeKey, kind);
}

function NodePlot({
  atLeast,
  kind,
  label,
}: {
  readonly kind: UsageKind;
  readonly atLeast: number;
  readonly label: string;
}) {
  const { page } = usePage();
  const canvas = useRef<HTMLCanvasElement>(null);
  const width = useRef(0);
  const draw = () => {
    if (canvas.current === null) return;
    const values = page.history.values(nodeKey, kind, slots);
    const size = { width: width.current, height: plotHeight };
    drawSpark(canvas.current, values, { ...size, colour: `--plot-${kind}`, atLeast, slots, isFilled: true });
  };
  useSamples(draw);
  useEffect(() => {
    if (canvas.current === null) return undefined;
    const resize = new ResizeObserver(([entry]) => {
      width.current = entry?.contentRect.width ?? 0;
      draw();
    });
    resize.observe(canvas.current);
    addEventListener(themeChanged, draw);
    return () => {
      resize.disconnect();
      removeEventListener(themeChanged, draw);
    };
  }, [page, kind]);
  return <canvas ref={canvas} class="gauge-plot" role="img" aria-label={label} />;
}

const slots = 120;
/** As .gauge-plot in node.css. */
const plotHeight = 24;
