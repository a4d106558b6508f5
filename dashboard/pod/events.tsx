// The events that the kubelet published about the pod, newest first.
import type { EventView } from '../../src/api/ports/node-page.ts';
import { Mark } from '../parts/mark.tsx';
import { Region } from '../parts/region.tsx';
import { Ago } from '../parts/when.tsx';
import { visible } from '../text/visible.ts';

export function Events({ events }: { readonly events: readonly EventView[] }) {
  const newestFirst = events.toSorted((a, b) => b.lastMs - a.lastMs);
  return (
    <Region name="Events" count={events.length}>
      {events.length === 0 && <p class="empty">The kubelet has published no event about this pod.</p>}
      <ol class="events">
        {newestFirst.map((event, at) => (
          <li
            key={`${event.reason}/${event.about}/${at}`}
            class={event.type === 'Warning' ? 'event event-warning' : 'event'}
          >
            <p class="event-head">
              {event.type === 'Warning' && <Mark tone="bad" />}
              <strong>{visible(event.reason)}</strong>
              {event.type === 'Warning' && <span class="visually-hidden">Warning</span>}
              {event.about !== '' && <span class="muted">{visible(event.about)}</span>}
              <span class="muted end-when">
                {event.count > 1 && <span title="How often it happened">×{event.count}, </span>}
                <Ago atMs={event.lastMs} /> ago
              </span>
            </p>
            <p class="event-message">{visible(event.message)}</p>
          </li>
        ))}
      </ol>
    </Region>
  );
}
