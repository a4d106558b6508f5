// GET /ui/api/logs/{namespace}/{pod}: the merged logs of a pod's containers as server-sent events. Upstream: none; kubectl opens a
// request per container and cannot resume. Invariants: errors are detected before the first byte; at most maxStreams at once.
import type { HttpAnswer, HttpRequest, HttpResponse } from '../../api/ports/http.ts';
import type { ContainerInstance } from './container-tail.ts';
import { parsePositions } from './log-position.ts';
import { MergedLog, type MergedLogDeps } from './merged-log.ts';

export interface UiLogsDeps extends Pick<MergedLogDeps, 'clock' | 'pause'> {
  /** The containers of a pod in the order of its spec; undefined if there is no such pod. */
  readonly look: (namespace: string, pod: string) => readonly ContainerInstance[] | undefined;
  /** As GET /containerLogs. */
  readonly openLog: (
    target: LogOf,
    query: URLSearchParams,
    signal: AbortSignal,
  ) => HttpAnswer | Promise<HttpAnswer>;
}

interface LogOf {
  readonly namespace: string;
  readonly pod: string;
  readonly container: string;
}

interface UiLogsRequest extends Pick<HttpRequest, 'headers' | 'query' | 'signal'> {
  readonly params: Readonly<Record<string, string>>;
}

const maxStreams = 32;
const maxContainers = 32;
const defaultTail = 1_000;
const maxTail = 20_000;
const streamHeaders = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  // For proxies that would collect the answer first.
  'x-accel-buffering': 'no',
};

export function uiLogsHandler(deps: UiLogsDeps): (request: UiLogsRequest) => HttpResponse {
  let streams = 0;
  return (request) => {
    const namespace = request.params['podNamespace'] ?? '';
    const pod = request.params['podID'] ?? '';
    const options = optionsOf(deps, namespace, pod, request);
    if ('status' in options) return options;
    if (streams >= maxStreams)
      return { ...refusal(429, `${maxStreams} log streams are open`), headers: { 'retry-after': '5' } };
    streams += 1;
    let isOpen = true;
    const release = (): void => {
      if (isOpen) streams -= 1;
      isOpen = false;
    };
    request.signal.addEventListener('abort', release, { once: true });
    const log = new MergedLog(
      {
        look: () => deps.look(namespace, pod),
        openLog: (container, query, signal) => deps.openLog({ namespace, pod, container }, query, signal),
        clock: deps.clock,
        pause: deps.pause,
      },
      options,
    );
    return { status: 200, headers: streamHeaders, body: released(log.messages(request.signal), release) };
  };
}

async function* released(
  messages: AsyncGenerator<Uint8Array, void>,
  release: () => void,
): AsyncGenerator<Uint8Array, void> {
  try {
    yield* messages;
  } finally {
    release();
  }
}

type Options = ConstructorParameters<typeof MergedLog>[1];

function optionsOf(
  { look }: UiLogsDeps,
  namespace: string,
  pod: string,
  { headers, query }: UiLogsRequest,
): Options | HttpResponse {
  const seen = look(namespace, pod);
  if (seen === undefined) return refusal(404, `pod ${JSON.stringify(pod)} does not exist`);
  const wanted = (query.get('containers') ?? '').split(',').filter((name) => name !== '');
  const containers = wanted.length === 0 ? seen.map(({ name }) => name) : [...new Set(wanted)];
  if (containers.length > maxContainers)
    return refusal(400, `at most ${maxContainers} containers at once, got ${containers.length}`);
  const unknown = containers.find((name) => seen.every((each) => each.name !== name));
  if (unknown !== undefined) return refusal(404, `container ${JSON.stringify(unknown)} not found`);
  const tail = query.get('tail') ?? String(defaultTail);
  if (!/^\d{1,6}$/.test(tail)) return refusal(400, `tail=${JSON.stringify(tail)} is not a number of lines`);
  const since = query.get('since') ?? undefined;
  if (since !== undefined && (since.length > 40 || Number.isNaN(Date.parse(since))))
    return refusal(400, `since=${JSON.stringify(since.slice(0, 40))} is not a time`);
  return {
    containers,
    since,
    tail: Math.min(Number(tail), maxTail),
    previous: isOn(query, 'previous'),
    follow: isOn(query, 'follow'),
    saved: parsePositions(String(headers['last-event-id'] ?? '')),
  };
}

function isOn(query: URLSearchParams, name: string): boolean {
  return ['true', '1'].includes(query.get(name) ?? '');
}

function refusal(status: number, message: string): HttpResponse {
  const headers = { 'content-type': 'text/plain; charset=utf-8', 'x-content-type-options': 'nosniff' };
  return { status, headers, body: `${message}\n` };
}
