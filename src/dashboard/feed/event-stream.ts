// The text form of server-sent events. Pure.
// Invariant: data is one line of JSON, which escapes every line end, so that no text can begin another event.
import type { StreamEvents } from '../../api/ports/node-page.ts';

const encoder = new TextEncoder();

export type EventName = keyof StreamEvents;

export function encodeEvent<N extends EventName>(name: N, data: StreamEvents[N]): Uint8Array {
  return encodeJson(name, JSON.stringify(data));
}

/** `json`: as JSON.stringify returns it, without indentation. */
export function encodeJson(name: EventName, json: string): Uint8Array {
  return encoder.encode(`event: ${name}\ndata: ${json}\n\n`);
}

/** Keeps proxies from closing a connection without traffic; clients ignore it. */
export const heartbeat = encoder.encode(':\n\n');

/** How long a client waits before it reconnects. */
export function encodeRetry(ms: number): Uint8Array {
  return encoder.encode(`retry: ${ms}\n\n`);
}

/** At most this many UTF-16 code units, ending with an ellipsis if it was longer. */
export function boundText(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length - 1)}…`;
}
