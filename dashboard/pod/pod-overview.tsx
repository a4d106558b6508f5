// Everything about a pod but its logs and a shell. Two columns where there is room: what happened, and what there is.
import { useEffect, useRef } from 'preact/hooks';
import type { PodDetail } from '../../src/api/ports/node-page.ts';
import { Region } from '../parts/region.tsx';
import { Ago, At } from '../parts/when.tsx';
import { visible } from '../text/visible.ts';
import { Containers } from './containers.tsx';
import { Ends } from './ends.tsx';
import { Events } from './events.tsx';
import { Probes } from './probes.tsx';
import { Spec } from './spec.tsx';
import { Start } from './start.tsx';
import { UsagePlots } from './usage-plots.tsx';
import { Volumes } from './volumes.tsx';

interface PodOverviewProps {
  readonly detail: PodDetail;
  /** The region that the address names. */
  readonly anchor: 'spec' | 'events' | undefined;
}

export function PodOverview({ anchor, detail }: PodOverviewProps) {
  const root = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (anchor === undefined) return;
    const heading = root.current?.querySelector<HTMLElement>(`#region-${anchor}`);
    heading?.focus({ preventScroll: true });
    heading?.scrollIntoView({ block: 'start' });
  }, [anchor]);
  return (
    <div class="pod" ref={root}>
      <div class="pod-story">
        <Why row={detail.row} />
        <Start starts={detail.starts} />
        <Probes strips={detail.probes} />
        <Ends ends={detail.ends} />
      </div>
      <div class="pod-parts">
        <UsagePlots uid={detail.row.uid} />
        <Containers pod={detail.row} containers={detail.containers} />
        <Volumes volumes={detail.volumes} />
        <Events events={detail.events} />
      </div>
      <Spec pod={detail.pod} />
    </div>
  );
}

function Why({ row }: { readonly row: PodDetail['row'] }) {
  return (
    <Region name="Why" explain="why" isQuiet>
      <p class={`sentence sentence-${row.tone}`}>{visible(row.sentence)}</p>
      {row.sinceMs !== undefined && (
        <p class="muted">
          For <Ago atMs={row.sinceMs} />, since <At atMs={row.sinceMs} />
          {row.createdMs !== undefined && (
            <>
              . Created <Ago atMs={row.createdMs} /> ago.
            </>
          )}
        </p>
      )}
    </Region>
  );
}
