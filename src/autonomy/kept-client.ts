// The API client as the features see it with --autonomy: records the objects and tokens that pods use, and answers with the kept
// ones while the API server cannot be reached.
// Invariants: while the server can be reached, every answer is the server's; nothing waits for a server that is known to be
// unreachable; requests that are not in the table of kinds are passed on unchanged.
import type { Pod } from '../api/k8s/types.ts';
import type { ApiCallOptions, ApiClient, KubeObject, PatchKind } from '../api/ports/api-client.ts';
import { raceAbort } from '../base/abort/race-abort.ts';
import { isKind } from '../base/errors.ts';
import type { ControlPlane } from './control-plane.ts';
import { isPodStatus, type ObjectRef, objectAt, requestedToken } from './kept-kinds.ts';
import type { KeptState } from './kept-state.ts';
import { notFound, notKept } from './not-kept.ts';

interface KeptClientDeps {
  readonly plane: ControlPlane;
  readonly kept: Pick<KeptState, 'noteEnd' | 'object' | 'record' | 'recordAbsent'>;
  readonly keepSecrets: boolean;
}

/** Answered by a server without its storage, so that it proves nothing. */
const versionPath = '/version';

export function keptClient(client: ApiClient, deps: KeptClientDeps): ApiClient {
  const { plane } = deps;
  const observed = async <T>(path: string, call: Promise<T>): Promise<T> => {
    try {
      const result = await call;
      if (path !== versionPath) plane.succeeded();
      return result;
    } catch (err) {
      plane.failed(err);
      throw err;
    }
  };
  return {
    request: (request) => observed(request.path, client.request(request)),
    get: async <T>(path: string, options: ApiCallOptions) => {
      const call = (): Promise<T> => observed(path, client.get<T>(path, options));
      const ref = objectAt(path);
      return await (ref === undefined ? call() : answered(ref, call, options.signal, deps));
    },
    list: (path, options) => observed(path, client.list(path, options)),
    create: async <T>(path: string, body: unknown, options: ApiCallOptions) => {
      const call = (): Promise<T> => observed(path, client.create<T>(path, body, options));
      const ref = requestedToken(path, body);
      return await (ref === undefined ? call() : answered(ref, call, options.signal, deps));
    },
    update: (path, body, options) => observed(path, client.update(path, body, options)),
    patch: async <T>(path: string, kind: PatchKind, body: unknown, options: ApiCallOptions) => {
      const result = await observed(path, client.patch<T>(path, kind, body, options));
      if (isPodStatus(path)) deps.kept.noteEnd(result as Pod);
      return result;
    },
    delete: (path, body, options) => observed(path, client.delete(path, body, options)),
    watch: (path, query, signal) => client.watch(path, query, signal),
    closeConnections: () => client.closeConnections(),
  };
}

/** The server's answer, or the kept one if the server is unreachable now or turns out to be before it answers. */
async function answered<T>(
  ref: ObjectRef,
  call: () => Promise<T>,
  signal: AbortSignal,
  deps: KeptClientDeps,
): Promise<T> {
  const { kept, plane } = deps;
  if (plane.isUnreachable()) return await raceAbort(keptAnswer<T>(ref, deps), signal);
  const cut = untilUnreachable(plane);
  try {
    const result = await Promise.race([call(), raceAbort(cut.promise, signal)]);
    if (result === unreachable) return await raceAbort(keptAnswer<T>(ref, deps), signal);
    kept.record(ref, result as KubeObject);
    return result;
  } catch (err) {
    if (isKind(err, 'not-found') && ref.kind !== 'tokens') kept.recordAbsent(ref);
    if (plane.isUnreachable() && !signal.aborted) return await raceAbort(keptAnswer<T>(ref, deps), signal);
    throw err;
  } finally {
    cut.end();
  }
}

async function keptAnswer<T>(ref: ObjectRef, { keepSecrets, kept, plane }: KeptClientDeps): Promise<T> {
  const found = await kept.object(ref);
  if (found === 'absent') throw notFound(ref);
  if (found === 'unkept') throw notKept(ref, { keepSecrets, failure: plane.lastFailure() });
  return found.object as T;
}

const unreachable = Symbol('unreachable');

function untilUnreachable(plane: ControlPlane): {
  readonly promise: Promise<typeof unreachable>;
  end(): void;
} {
  let end = (): void => undefined;
  const promise = new Promise<typeof unreachable>((resolve) => {
    end = plane.changed.subscribe(() => {
      if (plane.isUnreachable()) resolve(unreachable);
    });
  });
  return { promise, end: () => end() };
}
