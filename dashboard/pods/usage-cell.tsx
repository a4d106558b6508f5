// CPU or memory of a pod now, with the last minute as a plot. Writes its figure and plot by itself after each sample, and
// only while it is on the screen: 500 rows cost what the visible ones cost.
import { useEffect, useRef } from 'preact/hooks';
import type { PodUid } from '../../src/api/pod/pod-ref.ts';
import type { UsageKind } from '../data/usage-history.ts';
import { usePage } from '../data/use-page.ts';
import { onScreen } from '../parts/on-screen.ts';
import { drawSpark } from '../parts/spark.ts';
import { themeChanged } from '../shell/theme.ts';
import { bytes, cpuMillis } from '../text/format.ts';

const slots = 60;
/** As .spark in pods.css. */
const size = { width: 48, height: 20 };
/** The plot of an idle pod is a flat line, not noise at full height. */
const atLeast: Readonly<Record<UsageKind, number>> = { cpu: 20, memory: 4 * 1024 * 1024 };

export function UsageCell({ kind, uid }: { readonly uid: PodUid; readonly kind: UsageKind }) {
  const { page } = usePage();
  const cell = useRef<HTMLTableCellElement>(null);
  const figure = useRef<HTMLSpanElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  useEffect(() => {
    let isVisible = false;
    const draw = () => {
      if (!isVisible || figure.current === null || canvas.current === null) return;
      const now = page.history.now(uid, kind);
      const text = (kind === 'cpu' ? cpuMillis : bytes)(now);
      if (figure.current.textContent !== text) figure.current.textContent = text;
      const values = page.history.values(uid, kind, slots);
      drawSpark(canvas.current, values, {
        colour: `--plot-${kind}`,
        atLeast: atLeast[kind],
        slots,
        ...size,
        isFilled: kind === 'cpu',
      });
    };
    const ends = [
      page.onSample(draw),
      cell.current === null
        ? undefined
        : onScreen(cell.current, (next) => {
            isVisible = next;
            draw();
          }),
    ];
    addEventListener(themeChanged, draw);
    return () => {
      for (const end of ends) end?.();
      removeEventListener(themeChanged, draw);
    };
  }, [page, uid, kind]);
  return (
    <td role="cell" ref={cell} class={`c-${kind} usage`}>
      <div class="usage-box">
        <span ref={figure} class="usage-figure" />
        <canvas ref={canvas} class="spark" aria-hidden="true" />
      </div>
    </td>
  );
}
