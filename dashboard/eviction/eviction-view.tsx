// What eviction would do now. The kubelet measures for this, so it is fetched only while it is shown.
import { useEffect, useState } from 'preact/hooks';
import { type PageEnvironment, usePage } from '../data/use-page.ts';
import { Status } from '../parts/mark.tsx';
import { Region } from '../parts/region.tsx';
import { bytes } from '../text/format.ts';
import { visible } from '../text/visible.ts';
import type { EvictionExplanation } from './explanation.ts';
import { Orders } from './orders.tsx';
import { Signals } from './signals.tsx';

const periodMs = 5_000;

export function EvictionView() {
  const { page } = usePage();
  const { explanation, problem } = useExplanation(page);
  return (
    <>
      <div class="view-head">
        <h1 tabIndex={-1}>Eviction</h1>
        <span class="muted">
          A dry run by the kubelet’s own rules, every 5 s. Nothing is evicted by looking.
        </span>
      </div>
      {problem !== undefined && <p class="notice notice-bad">{problem}</p>}
      {explanation === undefined ? (
        problem === undefined && <p class="empty">The kubelet measures all pods …</p>
      ) : (
        <Explanation explanation={explanation} />
      )}
    </>
  );
}

function Explanation({ explanation }: { readonly explanation: EvictionExplanation }) {
  const { conditions, memory, order, overStorageLimit, signals } = explanation;
  const isMet = signals.some(({ thresholds }) => thresholds.some(({ met }) => met));
  const { kernelAvailableBytes, source, workingSetAvailableBytes } = memory;
  const isWorkingSet = source !== 'MemAvailable';
  return (
    <div class="eviction">
      <p class={`sentence sentence-${isMet ? 'bad' : 'good'}`}>
        <Status text={isMet ? 'Threshold met' : 'No threshold met'} tone={isMet ? 'bad' : 'good'} />{' '}
        {visible(explanation.explanation)}
      </p>
      {conditions.length > 0 && <p>Pressure conditions: {conditions.map(visible).join(', ')}</p>}
      <p class="muted">
        Memory available: {bytes(workingSetAvailableBytes)} by the working set{isWorkingSet && ' (decides)'},{' '}
        {bytes(kernelAvailableBytes)} by the kernel’s MemAvailable{!isWorkingSet && ' (decides)'}.
      </p>
      <Signals signals={signals} />
      {overStorageLimit.length > 0 && (
        <Region name="Above a storage limit" count={overStorageLimit.length}>
          <ul>
            {overStorageLimit.map(({ pod, uid, why }) => (
              <li key={uid}>
                <strong>{visible(pod)}</strong>: {visible(why)}
              </li>
            ))}
          </ul>
        </Region>
      )}
      <Orders order={order} />
    </div>
  );
}

interface Fetched {
  readonly explanation: EvictionExplanation | undefined;
  readonly problem: string | undefined;
}

function useExplanation(page: PageEnvironment['page']): Fetched {
  const [fetched, setFetched] = useState<Fetched>({ explanation: undefined, problem: undefined });
  useEffect(() => {
    const closed = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const read = async () => {
      if (document.visibilityState === 'visible') {
        const problem = await readOnce(page, closed.signal, (explanation) => {
          setFetched({ explanation, problem: undefined });
        });
        if (closed.signal.aborted) return;
        if (problem !== undefined) setFetched(({ explanation }) => ({ explanation, problem }));
      }
      timer = setTimeout(() => void read(), periodMs);
    };
    void read();
    return () => {
      closed.abort();
      clearTimeout(timer);
    };
  }, [page]);
  return fetched;
}

/** Returns what went wrong. */
async function readOnce(
  page: PageEnvironment['page'],
  closed: AbortSignal,
  take: (explanation: EvictionExplanation) => void,
): Promise<string | undefined> {
  try {
    const response = await page.fetch(
      '../explain/eviction',
      AbortSignal.any([closed, AbortSignal.timeout(30_000)]),
    );
    if (!response.ok) return `The kubelet answered HTTP ${response.status} to /explain/eviction.`;
    take((await response.json()) as EvictionExplanation);
    return undefined;
  } catch {
    return 'The kubelet did not answer /explain/eviction. The page tries again every 5 s.';
  }
}
