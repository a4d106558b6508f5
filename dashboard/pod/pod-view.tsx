// One pod: heading, tabs, and the tab. Keeps showing what was last known after the pod is gone.
import { useEffect, useRef } from 'preact/hooks';
import type { PodDetail } from '../../src/api/ports/node-page.ts';
import { podHref, type Route, routeHref, viewHref } from '../data/route.ts';
import { findPod } from '../data/state.ts';
import { usePage, useSelect } from '../data/use-page.ts';
import { LogView } from '../logs/log-view.tsx';
import { Icon } from '../parts/icon.tsx';
import { Status } from '../parts/mark.tsx';
import { Name } from '../parts/name.tsx';
import { plural } from '../text/format.ts';
import { visible } from '../text/visible.ts';
import { PodOverview } from './pod-overview.tsx';
import { ShellTab } from './shell-tab.tsx';

export type PodRoute = Extract<Route, { view: 'pod' }>;

export function PodView({ route }: { readonly route: PodRoute }) {
  const row = useSelect((state) => findPod(state.pods, route));
  const isListed = useSelect((state) => state.pods !== undefined);
  const detail = useSelect((state) => state.detail);
  const uid = usePodStream(row?.uid);
  const mine = detail?.uid === uid ? detail : undefined;
  const shown = mine?.last;
  const isGone = isListed && row === undefined;
  return (
    <>
      <PodHead route={route} row={row ?? shown?.row} isGone={isGone} />
      {shown !== undefined ? (
        <Tab route={route} detail={shown} isGone={isGone} />
      ) : (
        <p class="empty">
          {isGone
            ? 'This node has no pod of this name. It may have been deleted, or have moved to another node.'
            : 'Waiting for the pod …'}
        </p>
      )}
    </>
  );
}

/** Has the stream send this pod's detail; returns the pod last in view, also once it is gone. */
function usePodStream(uid: PodDetail['row']['uid'] | undefined) {
  const { page } = usePage();
  const last = useRef(uid);
  if (uid !== undefined) last.current = uid;
  const wanted = last.current;
  useEffect(() => {
    if (wanted !== undefined) page.want({ pod: wanted });
  }, [page, wanted]);
  useEffect(
    () => () => {
      page.want({});
    },
    [page],
  );
  return wanted;
}

interface PodHeadProps {
  readonly route: PodRoute;
  readonly row: PodDetail['row'] | undefined;
  readonly isGone: boolean;
}

const tabs = [
  ['overview', 'Overview'],
  ['logs', 'Logs'],
  ['shell', 'Shell'],
] as const;

function PodHead({ isGone, route, row }: PodHeadProps) {
  const shownTab = route.tab === 'spec' || route.tab === 'events' ? 'overview' : route.tab;
  return (
    <div class="view-head pod-head">
      <a class="back" href={viewHref('pods')} aria-label="All pods" title="All pods (Esc)">
        <Icon name="back" />
      </a>
      <h1 tabIndex={-1}>
        <Name text={route.name} longest={60} />
      </h1>
      {isGone ? (
        <Status text="Gone" tone="done" />
      ) : (
        row !== undefined && <Status text={row.status} tone={row.tone} />
      )}
      {row !== undefined && (
        <span class="muted pod-facts">
          <span title="Namespace">{visible(row.namespace)}</span>
          {row.ip !== '' && <span title="IP address of the pod">{visible(row.ip)}</span>}
          <span title="Containers that are ready, of all">
            {row.ready}/{row.containers} ready
          </span>
          <span>{plural(row.restarts, 'restart')}</span>
          <span title="Where the kubelet has the pod from">from {visible(row.source)}</span>
        </span>
      )}
      <nav class="tabs" aria-label="Pod">
        {tabs.map(([tab, title]) => (
          <a
            key={tab}
            href={podHref(route, tab)}
            {...(tab === shownTab ? { 'aria-current': 'page' as const } : {})}
          >
            {title}
          </a>
        ))}
      </nav>
    </div>
  );
}

interface TabProps {
  readonly route: PodRoute;
  readonly detail: PodDetail;
  readonly isGone: boolean;
}

function Tab({ detail, isGone, route }: TabProps) {
  const { navigate } = usePage();
  switch (route.tab) {
    case 'logs':
      return (
        <LogView
          namespace={route.namespace}
          name={route.name}
          containers={detail.containers}
          query={route.query}
          onQuery={(query) => {
            navigate(routeHref({ ...route, query }), true);
          }}
        />
      );
    case 'shell':
      return <ShellTab route={route} containers={detail.containers} />;
    case 'overview':
    case 'spec':
    case 'events':
      return (
        <div class={isGone ? 'gone' : ''}>
          <PodOverview detail={detail} anchor={route.tab === 'overview' ? undefined : route.tab} />
        </div>
      );
  }
}
