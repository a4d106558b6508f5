// The kubelet's own health: checks, figures, calls in flight, loops.
import type { ComponentChildren } from 'preact';
import { useEffect } from 'preact/hooks';
import type { KubeletHealth } from '../../src/api/ports/node-page.ts';
import { usePage, useSelect } from '../data/use-page.ts';
import { Status } from '../parts/mark.tsx';
import { Region } from '../parts/region.tsx';
import { Term } from '../parts/term.tsx';
import type { Explained } from '../text/explanations.ts';
import { bytes, count, cpuMillis, duration } from '../text/format.ts';
import { visible } from '../text/visible.ts';
import { Calls } from './calls-table.tsx';
import { Loops } from './loops-table.tsx';

export function HealthView() {
  const { page } = usePage();
  const health = useSelect((state) => state.health);
  useEffect(() => {
    page.want({ health: true });
    return () => {
      page.want({});
    };
  }, [page]);
  return (
    <section aria-label="Kubelet health">
      <div class="view-head">
        <h1 tabIndex={-1}>Kubelet</h1>
        {health !== undefined && <Verdict checks={health.checks} />}
      </div>
      {health === undefined ? (
        <p class="empty">Waiting for the kubelet …</p>
      ) : (
        <>
          <Figures health={health} />
          <div class="health">
            <div>
              <Calls calls={health.calls} />
              <Checks checks={health.checks} />
            </div>
            <Loops loops={health.loops} />
          </div>
        </>
      )}
    </section>
  );
}

function Verdict({ checks }: Pick<KubeletHealth, 'checks'>) {
  const failed = checks.filter(({ problem }) => problem !== undefined).length;
  return failed === 0 ? (
    <Status text="Healthy" tone="good" />
  ) : (
    <Status text={`${failed} of ${checks.length} checks fail`} tone="bad" />
  );
}

function Figures({ health }: { readonly health: KubeletHealth }) {
  const { cpuMillis: cpu, heapBytes, loopDelayMs, openFiles, rssBytes, viewers } = health;
  return (
    <dl class="figures">
      <Figure of="loopDelay" isBad={loopDelayMs.p99 > 100}>
        {duration(loopDelayMs.p99)}
        <small>
          99th percentile; median {duration(loopDelayMs.p50)}, longest {duration(loopDelayMs.max)}
        </small>
      </Figure>
      <Figure of="podCpu">
        {cpuMillis(cpu)}
        <small>of the kubelet’s process</small>
      </Figure>
      <Figure of="heap">
        {bytes(rssBytes)}
        <small>{bytes(heapBytes)} of it heap</small>
      </Figure>
      <Figure of="openFiles">{openFiles === undefined ? '–' : count(openFiles)}</Figure>
      <Figure of="viewers">{count(viewers)}</Figure>
    </dl>
  );
}

interface FigureProps {
  readonly of: Explained;
  readonly isBad?: boolean;
  readonly children: ComponentChildren;
}

function Figure({ children, isBad = false, of }: FigureProps) {
  return (
    <div class={isBad ? 'figure tone-bad' : 'figure'}>
      <dt>
        <Term of={of} />
      </dt>
      <dd>{children}</dd>
    </div>
  );
}

function Checks({ checks }: Pick<KubeletHealth, 'checks'>) {
  const failedFirst = checks.toSorted(
    (a, b) => Number(a.problem === undefined) - Number(b.problem === undefined),
  );
  return (
    <Region name="Checks" count={checks.length}>
      <ul class="checks">
        {failedFirst.map(({ name, problem }) => (
          <li key={name} class={problem === undefined ? '' : 'is-failed'}>
            <Status
              text={problem === undefined ? 'OK' : 'Fails'}
              tone={problem === undefined ? 'good' : 'bad'}
            />
            <span>{visible(name)}</span>
            {problem !== undefined && <span class="tone-bad">{visible(problem)}</span>}
          </li>
        ))}
      </ul>
    </Region>
  );
}
