// For every resource, all pods in the order in which they would be evicted, each with its reason.
import { useState } from 'preact/hooks';
import { podHref } from '../data/route.ts';
import { Name } from '../parts/name.tsx';
import { Region } from '../parts/region.tsx';
import { plural } from '../text/format.ts';
import { visible } from '../text/visible.ts';
import { type OrderEntry, resourceFormat, splitPod } from './explanation.ts';

const firstShown = 20;

export function Orders({ order }: { readonly order: readonly OrderEntry[] }) {
  const [chosen, setChosen] = useState<string | undefined>(undefined);
  const entry = order.find(({ resource }) => resource === chosen) ?? order[0];
  const tools = order.length > 1 && (
    <div class="choices" role="group" aria-label="Short of">
      {order.map(({ resource }) => (
        <button
          key={resource}
          type="button"
          class="choice"
          aria-pressed={resource === entry?.resource}
          onClick={() => {
            setChosen(resource);
          }}
        >
          {visible(resource)}
        </button>
      ))}
    </div>
  );
  return (
    <Region name="Eviction order" tools={tools}>
      {entry === undefined ? (
        <p class="empty">Without thresholds there is no order.</p>
      ) : (
        <OrderTable key={entry.resource} entry={entry} />
      )}
    </Region>
  );
}

function OrderTable({ entry: { pods, resource, signals } }: { readonly entry: OrderEntry }) {
  const [isWhole, setWhole] = useState(false);
  const format = resourceFormat(resource);
  const shown = (isWhole ? pods : pods.slice(0, firstShown)).map((pod, at) => ({
    ...pod,
    rank: pods.slice(0, at + 1).filter(({ evictable }) => evictable).length,
  }));
  return (
    <>
      <p class="region-lead">
        If the node were short of {visible(resource)} ({signals.map(visible).join(', ')}), pods would be
        evicted in this order until it has recovered.
      </p>
      <table class="data order">
        <thead>
          <tr>
            <th scope="col" class="number">
              #
            </th>
            <th scope="col">Pod</th>
            <th scope="col" class="number">
              Usage
            </th>
            <th scope="col" class="number">
              Request
            </th>
            <th scope="col" class="number">
              Priority
            </th>
            <th scope="col">Why here</th>
          </tr>
        </thead>
        <tbody>
          {shown.map(({ evictable, pod, priority, rank, request, uid, usage, why }) => {
            const ref = splitPod(pod);
            return (
              <tr key={uid} class={evictable ? '' : 'is-exempt'}>
                <td class="number order-rank">{evictable ? rank : '–'}</td>
                <td class="order-pod">
                  <a href={podHref(ref)} data-row-link>
                    <Name text={ref.name} />
                  </a>
                  <span class="sub">{visible(ref.namespace)}</span>
                </td>
                <td class="number" data-label="usage">
                  {format(usage)}
                </td>
                <td class="number" data-label="request">
                  {format(request)}
                </td>
                <td class="number" data-label="priority">
                  {priority}
                </td>
                <td class="order-why">
                  {!evictable && <span class="chip">never evicted</span>} {visible(why)}
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
      {pods.length > shown.length && (
        <button
          type="button"
          class="button"
          onClick={() => {
            setWhole(true);
          }}
        >
          Show {plural(pods.length - shown.length, 'more pod')}
        </button>
      )}
    </>
  );
}
