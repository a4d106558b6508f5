// The list calls of a service through its streaming lists (gate CRIListStreaming), so that a list may exceed one message.
// Upstream: cri-client's remote_runtime.go and remote_image.go (useStreaming).
// Invariants: a list is complete or an error, never partial; the deadline covers the whole stream; after the first
// Unimplemented the service is called unary for good.
import { type CallOptions, type CriImages, type CriRuntime, isUnimplemented } from '../../api/cri/runtime.ts';
import { KubeletError } from '../../base/errors.ts';
import type { Logger } from '../../base/log/log.ts';

/** Far above any node: a runtime that repeats itself must not fill the memory before the deadline. */
const maxItems = 200_000;

interface Row {
  readonly stream: string;
  readonly streamed: string;
  readonly listed: string;
}

const runtimeLists: Readonly<Partial<Record<keyof CriRuntime, Row>>> = {
  listPodSandbox: { stream: 'streamPodSandboxes', streamed: 'podSandboxes', listed: 'items' },
  listContainers: { stream: 'streamContainers', streamed: 'containers', listed: 'containers' },
  listContainerStats: { stream: 'streamContainerStats', streamed: 'containerStats', listed: 'stats' },
  listPodSandboxStats: { stream: 'streamPodSandboxStats', streamed: 'podSandboxStats', listed: 'stats' },
  listPodSandboxMetrics: {
    stream: 'streamPodSandboxMetrics',
    streamed: 'podSandboxMetrics',
    listed: 'podMetrics',
  },
};

const imageLists: Readonly<Partial<Record<keyof CriImages, Row>>> = {
  listImages: { stream: 'streamImages', streamed: 'images', listed: 'images' },
};

type Unary = (request: unknown, options?: CallOptions) => Promise<unknown>;
type Stream = (
  request: unknown,
  options: CallOptions,
) => AsyncIterable<Readonly<Record<string, readonly unknown[]>>>;

/** The runtime service with streamed lists. */
export function withStreamedRuntimeLists(runtime: CriRuntime, log: Pick<Logger, 'info'>): CriRuntime {
  return { ...runtime, ...streamedLists(runtime, runtimeLists, log) };
}

/** The image service with streamed lists. */
export function withStreamedImageLists(images: CriImages, log: Pick<Logger, 'info'>): CriImages {
  return { ...images, ...streamedLists(images, imageLists, log) };
}

function streamedLists<S extends CriRuntime | CriImages>(
  service: S,
  rows: Readonly<Partial<Record<string, Row>>>,
  log: Pick<Logger, 'info'>,
): Partial<S> {
  const unaryCalls = service as unknown as Readonly<Record<string, Unary>>;
  const streams = service as unknown as Readonly<Record<string, Stream>>;
  const lists: Record<string, Unary> = {};
  let isStreaming = true;
  for (const [list, row] of Object.entries(rows)) {
    const unary = unaryCalls[list];
    const stream = streams[row?.stream ?? ''];
    if (row === undefined || unary === undefined || stream === undefined) continue;
    lists[list] = async (request, options = {}) => {
      if (!isStreaming) return unary(request, options);
      try {
        return { [row.listed]: await collect(stream(request, options), row) };
      } catch (err) {
        if (!isUnimplemented(err)) throw err;
        if (isStreaming)
          log.info('Runtime has no streaming lists, using unary calls', { method: row.stream });
        isStreaming = false;
        return unary(request, options);
      }
    };
  }
  return lists as Partial<S>;
}

async function collect(
  messages: AsyncIterable<Readonly<Record<string, readonly unknown[]>>>,
  { stream, streamed }: Row,
): Promise<readonly unknown[]> {
  const items: unknown[] = [];
  for await (const message of messages) {
    for (const item of message[streamed] ?? []) items.push(item);
    if (items.length > maxItems) {
      const text = `the runtime sent more than ${maxItems} items on ${stream}`;
      throw new KubeletError('internal', 'RESOURCE_EXHAUSTED', text, { details: { method: stream } });
    }
  }
  return items;
}
