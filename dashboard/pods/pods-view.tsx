// All pods of the node: filter, namespaces, and the table. The address keeps filter and order.
import { useMemo } from 'preact/hooks';
import { routeHref } from '../data/route.ts';
import { useNow, usePage, useSelect } from '../data/use-page.ts';
import { plural } from '../text/format.ts';
import { visible } from '../text/visible.ts';
import {
  filterRows,
  formatOrder,
  namespacesOf,
  type Order,
  parseOrder,
  sortKeys,
  sortRows,
} from './order.ts';
import { PodTable } from './pod-table.tsx';

const sortNames: Readonly<Record<(typeof sortKeys)[number], string>> = {
  status: 'attention needed',
  name: 'name',
  namespace: 'namespace',
  restarts: 'restarts',
  age: 'age',
  cpu: 'CPU',
  memory: 'memory',
};

/** Rows that are ordered by usage change places this often. */
const steadyMs = 3_000;

export function PodsView({ query }: { readonly query: URLSearchParams }) {
  const { navigate, page } = usePage();
  const pods = useSelect((state) => state.pods);
  const [text, namespace] = [query.get('q') ?? '', query.get('ns') ?? ''];
  const order = parseOrder(query.get('sort'));
  const isLive = order.by === 'cpu' || order.by === 'memory';
  const period = Math.floor(useNow(steadyMs) / steadyMs);
  const all = useMemo(() => [...(pods?.values() ?? [])], [pods]);
  const rows = useMemo(
    () => sortRows(filterRows(all, text, namespace), order, page.history),
    [all, text, namespace, order.by, order.descending, isLive ? period : 0],
  );
  const set = (name: 'q' | 'ns' | 'sort', value: string) => {
    const next = new URLSearchParams(query);
    if (value === '') next.delete(name);
    else next.set(name, value);
    navigate(routeHref({ view: 'pods', query: next }), true);
  };
  const setOrder = (next: Order) => {
    set('sort', formatOrder(next));
  };
  const isFiltered = text !== '' || namespace !== '';
  return (
    <>
      <div class="view-head">
        <h1 tabIndex={-1}>Pods</h1>
        <span class="muted">
          {pods === undefined ? '' : isFiltered ? `${rows.length} of ${all.length}` : summary(all)}
        </span>
        <div class="view-tools">
          <input
            type="search"
            class="field"
            aria-label="Filter pods"
            placeholder="Filter by name, status, IP …  ( / )"
            value={text}
            onInput={(event) => {
              set('q', event.currentTarget.value);
            }}
          />
          <select
            class="field"
            aria-label="Namespace"
            value={namespace}
            onChange={(event) => {
              set('ns', event.currentTarget.value);
            }}
          >
            <option value="">All namespaces</option>
            {namespacesOf(all).map((each) => (
              <option key={each} value={each}>
                {visible(each)}
              </option>
            ))}
          </select>
          <select
            class="field phone-only"
            aria-label="Order"
            value={formatOrder(order)}
            onChange={(event) => {
              set('sort', event.currentTarget.value);
            }}
          >
            {sortKeys.map((key) => (
              <option
                key={key}
                value={key === 'cpu' || key === 'memory' || key === 'restarts' ? `-${key}` : key}
              >
                By {sortNames[key]}
              </option>
            ))}
          </select>
        </div>
      </div>
      <PodTable rows={rows} order={order} onOrder={setOrder} />
      {rows.length === 0 && (
        <p class="empty">
          {pods === undefined
            ? 'Waiting for the pods …'
            : isFiltered
              ? 'No pod matches the filter.'
              : 'No pod on this node yet. A manifest in the directory for static pods, or the scheduler, brings one.'}
        </p>
      )}
    </>
  );
}

function summary(rows: readonly { readonly tone: string }[]): string {
  const bad = rows.filter(({ tone }) => tone === 'bad').length;
  const busy = rows.filter(({ tone }) => tone === 'busy').length;
  const parts = [plural(rows.length, 'pod')];
  if (bad > 0) parts.push(`${bad} ${bad === 1 ? 'needs' : 'need'} attention`);
  if (busy > 0) parts.push(`${busy} in progress`);
  return parts.join(', ');
}
