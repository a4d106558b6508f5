// The containers of the pod: state, restarts, back-off as a count-down, image, and the ways to logs and shell.
import type { ContainerView, PodRow } from '../../src/api/ports/node-page.ts';
import { podHref } from '../data/route.ts';
import { useNow } from '../data/use-page.ts';
import { Status } from '../parts/mark.tsx';
import { Name } from '../parts/name.tsx';
import { Region } from '../parts/region.tsx';
import { Ago } from '../parts/when.tsx';
import { duration, plural } from '../text/format.ts';
import { truncateMiddle, visible } from '../text/visible.ts';

interface ContainersProps {
  readonly pod: PodRow;
  readonly containers: readonly ContainerView[];
}

export function Containers({ containers, pod }: ContainersProps) {
  return (
    <Region name="Containers" count={containers.length}>
      <ul class="containers">
        {containers.map((container) => (
          <Container key={`${container.role}/${container.name}`} pod={pod} container={container} />
        ))}
      </ul>
    </Region>
  );
}

const roleTitles: Readonly<Record<ContainerView['role'], string>> = {
  init: 'Runs to completion before the others start',
  sidecar: 'Starts before the others and runs beside them',
  regular: '',
  ephemeral: 'Added to the running pod, for example by kubectl debug',
};

function Container({ container, pod }: { readonly container: ContainerView; readonly pod: PodRow }) {
  const { hasPrevious, id, image, lastEnd, name, restarts, role, sinceMs, state, tone } = container;
  return (
    <li class="container">
      <div class="container-head">
        <strong>
          <Name text={name} longest={36} />
        </strong>
        {role !== 'regular' && (
          <span class="chip" title={roleTitles[role]}>
            {role}
          </span>
        )}
        <Status text={state} tone={tone} />
        {sinceMs !== undefined && (
          <span class="muted">
            for <Ago atMs={sinceMs} />
          </span>
        )}
        <Backoff untilMs={container.backoffUntilMs} />
      </div>
      <p class="container-image" title={`${visible(image)}\n${visible(id)}`}>
        {truncateMiddle(visible(image), 64)}
      </p>
      {(restarts > 0 || lastEnd !== undefined) && (
        <p class="muted">
          {restarts > 0 && plural(restarts, 'restart')}
          {restarts > 0 && lastEnd !== undefined && ' · '}
          {lastEnd !== undefined && visible(lastEnd)}
        </p>
      )}
      <p class="container-links">
        <a href={podHref(pod, 'logs', { c: name })} aria-label={`Logs of ${visible(name)}`}>
          Logs
        </a>
        {hasPrevious && (
          <a
            href={podHref(pod, 'logs', { c: name, previous: '1' })}
            aria-label={`Previous logs of ${visible(name)}`}
          >
            Previous logs
          </a>
        )}
        <a href={podHref(pod, 'shell', { c: name })} aria-label={`Shell in ${visible(name)}`}>
          Shell
        </a>
      </p>
    </li>
  );
}

/** Counts down to the restart. */
function Backoff({ untilMs }: { readonly untilMs: number | undefined }) {
  const nowMs = useNow();
  if (untilMs === undefined) return null;
  const leftMs = Math.ceil((untilMs - nowMs) / 1_000) * 1_000;
  return (
    <span class="chip chip-busy" title="The kubelet waits longer after every failure, up to five minutes">
      {leftMs > 0 ? `restarts in ${duration(leftMs).replace(/\.\d+/, '')}` : 'restarts now'}
    </span>
  );
}
