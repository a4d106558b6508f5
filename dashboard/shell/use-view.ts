// What follows a change of the view: what the stream sends, where the focus is, the scroll position, the title.
import { useEffect, useRef } from 'preact/hooks';
import type { PodUid } from '../../src/api/pod/pod-ref.ts';
import type { Route } from '../data/route.ts';
import { findPod } from '../data/state.ts';
import { usePage, useSelect } from '../data/use-page.ts';
import { visible } from '../text/visible.ts';

/** Has the stream send what the view needs; for a pod that is gone, what it sent last. */
export function useStreamWants(): void {
  const { page, route } = usePage();
  const uid = useSelect((state) => (route.view === 'pod' ? findPod(state.pods, route)?.uid : undefined));
  const place = placeOf(route);
  const known = useRef<{ readonly place: string; readonly uid: PodUid } | undefined>(undefined);
  if (uid !== undefined) known.current = { place, uid };
  const pod = known.current?.place === place ? known.current.uid : undefined;
  const health = route.view === 'health';
  useEffect(() => {
    page.want({ pod, health });
  }, [page, pod, health]);
}

function placeOf(route: Route): string {
  return route.view === 'pod' ? `${route.namespace}/${route.name}` : route.view;
}

const titles = { pods: 'Pods', eviction: 'Eviction', health: 'Kubelet' } as const;

/** A screen reader continues at the heading of the new view; the first view leaves the focus alone. */
export function useViewChange(nodeName: string | undefined): void {
  const { route } = usePage();
  const place = route.view === 'pod' ? `${placeOf(route)}/${route.tab}` : route.view;
  const shown = useRef(place);
  const scrolled = useRef(new Map<string, number>());
  const subject = route.view === 'pod' ? visible(route.name) : titles[route.view];
  useEffect(() => {
    document.title = nodeName === undefined ? subject : `${subject} · ${visible(nodeName)}`;
  }, [subject, nodeName]);
  useEffect(() => {
    const remember = () => {
      scrolled.current.set(shown.current, scrollY);
    };
    addEventListener('scroll', remember, { passive: true });
    return () => {
      removeEventListener('scroll', remember);
    };
  }, []);
  useEffect(() => {
    if (shown.current === place) return;
    shown.current = place;
    // The pod's view scrolls to such a region itself.
    if (route.view === 'pod' && (route.tab === 'spec' || route.tab === 'events')) return;
    focusHeading();
    // The table is found where it was left.
    scrollTo({ top: place === 'pods' ? (scrolled.current.get(place) ?? 0) : 0, behavior: 'instant' });
  }, [place, route]);
}

export function focusHeading(): void {
  document.querySelector<HTMLElement>('main h1')?.focus({ preventScroll: true });
}
