// CPU and memory of the pod over the last five minutes. The plotting library is loaded when a pod is first opened.
import { useEffect, useRef } from 'preact/hooks';
import type { PodUid } from '../../src/api/pod/pod-ref.ts';
import type { UsageKind } from '../data/usage-history.ts';
import { usePage, useSamples } from '../data/use-page.ts';
import { Region } from '../parts/region.tsx';
import { Term } from '../parts/term.tsx';
import { themeChanged } from '../shell/theme.ts';
import { bytes, cpuMillis } from '../text/format.ts';
import type { UsageChart } from './usage-chart.ts';

export function UsagePlots({ uid }: { readonly uid: PodUid }) {
  return (
    <Region name="Usage" isQuiet>
      <div class="plots">
        <Plot uid={uid} kind="cpu" />
        <Plot uid={uid} kind="memory" />
      </div>
    </Region>
  );
}

const formats = { cpu: cpuMillis, memory: bytes } as const;

function Plot({ kind, uid }: { readonly uid: PodUid; readonly kind: UsageKind }) {
  const { page } = usePage();
  const box = useRef<HTMLDivElement>(null);
  const figure = useRef<HTMLElement>(null);
  const chart = useRef<UsageChart | undefined>(undefined);
  const draw = () => {
    if (figure.current !== null) figure.current.textContent = formats[kind](page.history.now(uid, kind));
    chart.current?.set(page.history.times(), page.history.values(uid, kind));
  };
  useSamples(draw);
  useEffect(() => {
    let isShown = true;
    const load = async () => {
      const { createChart } = await import('./usage-chart.ts');
      if (!isShown || box.current === null) return;
      chart.current?.destroy();
      chart.current = createChart(box.current, kind);
      draw();
    };
    const create = () => {
      void load();
    };
    create();
    addEventListener(themeChanged, create);
    return () => {
      isShown = false;
      removeEventListener(themeChanged, create);
      chart.current?.destroy();
      chart.current = undefined;
    };
  }, [uid, kind]);
  return (
    <div class="plot">
      <p class="plot-head">
        <Term of={kind === 'cpu' ? 'podCpu' : 'podMemory'} />
        <strong ref={figure} />
      </p>
      <div
        ref={box}
        class="plot-box"
        role="img"
        aria-label={`Plot of ${kind === 'cpu' ? 'CPU' : 'memory'}, last five minutes`}
      />
    </div>
  );
}
