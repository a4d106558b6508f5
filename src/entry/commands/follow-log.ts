// Follows a container's log over broken connections, as when the kubelet is restarted.
// Invariants: no line is lost or printed twice (src/terminal/resumable-log.ts); the end of the container ends it, the end of the
// kubelet does not, and neither does a server that knows the pod only a moment after its start.
import type { Pod } from '../../api/k8s/types.ts';
import type { Clock } from '../../base/clock.ts';
import { describeError, KubeletError } from '../../base/errors.ts';
import { ResumableLog } from '../../terminal/resumable-log.ts';
import { safeText } from '../../terminal/safe-text.ts';
import type { CommandCall } from './command-call.ts';

export interface LogRequest {
  readonly container: string;
  /** Without `follow` and `timestamps`. */
  readonly query: URLSearchParams;
  readonly path: string;
}

interface FollowOptions {
  readonly api: {
    stream(path: string, signal: AbortSignal): AsyncIterable<Uint8Array>;
    get(path: string, signal: AbortSignal): Promise<string>;
  };
  readonly request: LogRequest;
  readonly pod: { readonly namespace: string; readonly name: string };
  readonly timestamps: boolean;
  readonly clock: Pick<Clock, 'now' | 'monotonic' | 'sleep'>;
  readonly print: (bytes: Uint8Array) => Promise<void>;
  readonly call: Pick<CommandCall, 'output' | 'signal'>;
}

const firstPauseMs = 250;
const longestPauseMs = 2_000;
/** How long the kubelet may be unreachable. */
const outageMs = 10 * 60_000;
/** How long a kubelet that has just started may reject the request. */
const rejectionMs = 30_000;
/** How long the status may lag behind the end of a container. */
const statusLagMs = 3_000;

/** How a connection ended. */
type End = 'done' | { readonly err: unknown };

export function pathOf(
  { path, query }: LogRequest,
  more: Readonly<Record<string, boolean | string>>,
): string {
  const all = new URLSearchParams(query);
  for (const [name, value] of Object.entries(more)) if (value !== false) all.set(name, String(value));
  const text = all.toString();
  return text === '' ? path : `${path}?${text}`;
}

export async function followLog(options: FollowOptions): Promise<void> {
  const { call, clock } = options;
  const log = new ResumableLog({ timestamps: options.timestamps });
  const startedAt = new Date(clock.now()).toISOString();
  const first = await containerId(options).catch(() => undefined);
  let brokenMs: number | undefined;
  let pauseMs = firstPauseMs;
  for (let connections = 0; ; connections++) {
    const since = connections === 0 ? undefined : (log.resume() ?? sinceStart(options, startedAt));
    let isFirst = true;
    const end = await readOnce(options, since, async (chunk) => {
      if (isFirst && brokenMs !== undefined) call.output.warn('kubelet logs: reconnected\n');
      isFirst = false;
      brokenMs = undefined;
      pauseMs = firstPauseMs;
      const bytes = log.push(chunk);
      if (bytes.length > 0) await options.print(bytes);
    });
    call.signal.throwIfAborted();
    if (end === 'done' && (await hasEnded(options, first))) return;
    if (connections === 0 && end !== 'done' && !isBroken(end.err)) throw end.err;
    if (brokenMs === undefined) {
      brokenMs = clock.monotonic();
      const why = end === 'done' ? '' : ` (${safeText(describeError(end.err))})`;
      call.output.warn(`kubelet logs: the connection ended${why}, reconnecting\n`);
    }
    const limitMs = end === 'done' || isBroken(end.err) ? outageMs : rejectionMs;
    if (clock.monotonic() - brokenMs > limitMs)
      throw end === 'done'
        ? new KubeletError('unavailable', 'Unreachable', 'the kubelet does not answer')
        : end.err;
    await clock.sleep(pauseMs, call.signal);
    pauseMs = Math.min(pauseMs * 2, longestPauseMs);
  }
}

/** Nothing was printed: with --tail=0 what came after the start is still to be printed, otherwise the first request is repeated. */
function sinceStart({ request }: FollowOptions, startedAt: string): string | undefined {
  return request.query.get('tailLines') === '0' ? startedAt : undefined;
}

async function readOnce(
  { api, call, request }: FollowOptions,
  since: string | undefined,
  take: (chunk: Uint8Array) => Promise<void>,
): Promise<End> {
  const query = new URLSearchParams(request.query);
  if (since !== undefined) {
    query.delete('tailLines');
    query.delete('sinceSeconds');
    query.set('sinceTime', since);
  }
  const path = pathOf({ ...request, query }, { follow: true, timestamps: true });
  let printError: { readonly err: unknown } | undefined;
  try {
    for await (const chunk of api.stream(path, call.signal)) {
      try {
        await take(chunk);
      } catch (err) {
        printError = { err };
        break;
      }
    }
  } catch (err) {
    if (printError === undefined) return { err };
  }
  if (printError !== undefined) throw printError.err;
  return 'done';
}

/** A broken connection, not an answer. */
function isBroken(err: unknown): boolean {
  return err instanceof KubeletError && (err.kind === 'unavailable' || err.kind === 'timeout');
}

/** A stream also ends when the kubelet stops: then its container runs on. */
async function hasEnded(options: FollowOptions, first: string | undefined): Promise<boolean> {
  const { call, clock } = options;
  const untilMs = clock.monotonic() + statusLagMs;
  for (;;) {
    try {
      const now = await containerId(options);
      if (now === undefined || (first !== undefined && now !== first)) return true;
    } catch (err) {
      call.signal.throwIfAborted();
      return !isBroken(err);
    }
    if (clock.monotonic() >= untilMs) return false;
    await clock.sleep(firstPauseMs, call.signal);
  }
}

/** Of the running container; undefined if it does not run. */
async function containerId({ api, call, pod, request }: FollowOptions): Promise<string | undefined> {
  const { items } = JSON.parse(await api.get('/pods', call.signal)) as {
    readonly items?: readonly Pod[] | null;
  };
  const found = (items ?? []).find(
    ({ metadata }) => metadata?.namespace === pod.namespace && metadata.name === pod.name,
  );
  const {
    containerStatuses = [],
    ephemeralContainerStatuses = [],
    initContainerStatuses = [],
  } = found?.status ?? {};
  const status = [...containerStatuses, ...initContainerStatuses, ...ephemeralContainerStatuses].find(
    ({ name }) => name === request.container,
  );
  return status?.state?.running === undefined ? undefined : status.containerID;
}
