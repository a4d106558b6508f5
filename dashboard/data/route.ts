// What the address bar's fragment stands for: the view, and in it the pod and the query. Every view has an address of its own.

const podTabs = ['overview', 'logs', 'shell', 'spec', 'events'] as const;
type PodTab = (typeof podTabs)[number];

export type Route =
  | { readonly view: 'pods' | 'eviction' | 'health'; readonly query: URLSearchParams }
  | {
      readonly view: 'pod';
      readonly namespace: string;
      readonly name: string;
      readonly tab: PodTab;
      readonly query: URLSearchParams;
    };

/** An unknown address is the table of pods. */
export function parseRoute(hash: string): Route {
  const text = hash.startsWith('#') ? hash.slice(1) : hash;
  const mark = text.indexOf('?');
  const path = mark < 0 ? text : text.slice(0, mark);
  const query = new URLSearchParams(mark < 0 ? '' : text.slice(mark + 1));
  const [, view, namespace, name, tab = 'overview'] = path.split('/').map(decoded);
  if (view === 'eviction' || view === 'health') return { view, query };
  if (view !== 'pods' || !namespace || !name) return { view: 'pods', query };
  return { view: 'pod', namespace, name, tab: podTabs.find((each) => each === tab) ?? 'overview', query };
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** Always a fragment, so that no name can make another scheme of it. */
export function routeHref(route: Route): string {
  const query = route.query.toString();
  return `#${pathOf(route)}${query === '' ? '' : `?${query}`}`;
}

function pathOf(route: Route): string {
  if (route.view !== 'pod') return `/${route.view}`;
  const { namespace, name, tab } = route;
  const pod = `/pods/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}`;
  return tab === 'overview' ? pod : `${pod}/${tab}`;
}

export function viewHref(view: 'pods' | 'eviction' | 'health'): string {
  return `#/${view}`;
}

export function podHref(
  pod: { readonly namespace: string; readonly name: string },
  tab: PodTab = 'overview',
  query: Readonly<Record<string, string>> = {},
): string {
  return routeHref({
    view: 'pod',
    namespace: pod.namespace,
    name: pod.name,
    tab,
    query: new URLSearchParams(query),
  });
}

/** The view above this one, for Escape. */
export function parentHref(route: Route): string | undefined {
  if (route.view === 'pods') return undefined;
  if (route.view === 'pod' && route.tab !== 'overview') return podHref(route);
  return viewHref('pods');
}

/** A fragment `#token=TOKEN&to=/pods/…`; undefined if it carries no token. */
export function tokenOf(hash: string): { readonly token: string; readonly next: string } | undefined {
  if (!hash.startsWith('#token=')) return undefined;
  const fields = new URLSearchParams(hash.slice(1));
  const token = fields.get('token') ?? '';
  if (token === '') return undefined;
  return { token, next: routeHref(parseRoute(fields.get('to') ?? '')) };
}
