// /debug/pprof/: profiles of the process in V8's formats. Upstream: net/http/pprof.
// differs from upstream: profiles are V8's (.cpuprofile, .heapprofile, .heapsnapshot), for Chrome's DevTools, not pprof's.
import { Aborted, isAbortOf } from '../../base/errors.ts';
import {
  errorResponse,
  type HttpResponse,
  type RoutedRequest,
  type RouteHandler,
  textResponse,
} from '../http-message.ts';
import { withRelease } from '../with-release.ts';

export interface Profiler {
  /** A CPU profile over this time, as V8's .cpuprofile. */
  cpu(seconds: number, signal: AbortSignal): Promise<string>;
  /** The allocations over this time, as V8's .heapprofile. */
  allocations(seconds: number, signal: AbortSignal): Promise<string>;
  /** The whole heap, as V8's .heapsnapshot; pauses the process while it is taken. */
  heap(): AsyncIterable<Uint8Array>;
  /** The active resources of the process by kind: sockets, timers, files. */
  resources(): readonly string[];
  readonly commandLine: readonly string[];
}

const defaultSeconds = 30;
/** differs from upstream: there the limit is the server's write timeout of four hours. */
const maxSeconds = 300;

const pages = ['allocs', 'block', 'cmdline', 'goroutine', 'heap', 'mutex', 'profile', 'threadcreate'];

const inUse = errorResponse(500, 'Could not enable profiling: profiling already in use');

const snapshotsOff = errorResponse(
  404,
  'Heap snapshots contain every secret that the kubelet holds and are disabled (--enable-heap-snapshots).',
);

interface ProfileSettings {
  /** --enable-heap-snapshots */
  readonly heapSnapshots: boolean;
}

/** The handlers of /debug/pprof/; they share one lock. */
export function profileHandlers(
  profiler: Profiler,
  { heapSnapshots }: ProfileSettings,
): { readonly heapSnapshot: RouteHandler; readonly profiles: RouteHandler } {
  // Concurrent profiles would measure each other.
  let isProfiling = false;
  const exclusively = async (
    request: RoutedRequest,
    take: () => Promise<HttpResponse>,
  ): Promise<HttpResponse> => {
    if (isProfiling) return inUse;
    isProfiling = true;
    try {
      return await take();
    } catch (err) {
      if (isAbortOf(err, request.signal)) throw new Aborted('the client disconnected', { cause: err });
      throw err;
    } finally {
      isProfiling = false;
    }
  };
  // A snapshot stays in memory until it is read, so only one at a time.
  const snapshot = (): HttpResponse => {
    if (isProfiling) return inUse;
    const chunks = profiler.heap();
    isProfiling = true;
    const release = (): void => {
      isProfiling = false;
    };
    return attachment('kubelet.heapsnapshot', withRelease(chunks, release));
  };
  const profiles: RouteHandler = async (request) => {
    const seconds = secondsOf(request);
    if (seconds > maxSeconds) return errorResponse(400, "profile duration exceeds server's WriteTimeout");
    switch (request.params['subpath']) {
      case '':
      case undefined:
        return index();
      case 'profile':
        return exclusively(request, async () =>
          attachment('kubelet.cpuprofile', await profiler.cpu(seconds, request.signal)),
        );
      case 'allocs':
        return exclusively(request, async () =>
          attachment('kubelet.heapprofile', await profiler.allocations(seconds, request.signal)),
        );
      case 'cmdline':
        return textResponse(profiler.commandLine.join('\u0000'));
      case 'goroutine':
        return textResponse(counted(profiler.resources()));
      // Node has one thread and no locks: these profiles are always empty.
      case 'block':
      case 'mutex':
      case 'threadcreate':
        return textResponse('');
      default:
        return errorResponse(404, 'Unknown profile');
    }
  };
  return { profiles, heapSnapshot: () => (heapSnapshots ? snapshot() : snapshotsOff) };
}

function secondsOf({ query }: RoutedRequest): number {
  const given = Number(query.get('seconds') ?? '');
  return Number.isInteger(given) && given > 0 ? given : defaultSeconds;
}

function counted(names: readonly string[]): string {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  const lines = [...counts].toSorted(([, a], [, b]) => b - a).map(([name, count]) => `${count} ${name}\n`);
  return `resources: total ${names.length}\n${lines.join('')}`;
}

function attachment(name: string, body: HttpResponse['body']): HttpResponse {
  const headers = {
    'content-type': 'application/octet-stream',
    'content-disposition': `attachment; filename="${name}"`,
    'x-content-type-options': 'nosniff',
  };
  return { status: 200, headers, body };
}

function index(): HttpResponse {
  const links = pages.map((name) => `<li><a href='${name}'>${name}</a></li>\n`).join('');
  const headers = { 'content-type': 'text/html; charset=utf-8', 'x-content-type-options': 'nosniff' };
  return {
    status: 200,
    headers,
    body: `<!doctype html>\n<title>/debug/pprof/</title>\n<ul>\n${links}</ul>\n`,
  };
}
