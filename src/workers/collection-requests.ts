// Requests to the pods' workers to collect garbage, with their callers.
// Invariants: a pod's worker alone collects; every caller is settled exactly once; pressure on the disk prevails.
import type { PodUid } from '../api/pod/pod-ref.ts';
import type { CollectionCause } from '../api/ports/garbage-scope.ts';
import { isAbort } from '../base/errors.ts';

interface Request {
  cause: CollectionCause;
  /** Collects in the trace of the first caller. */
  readonly inTrace: InTrace;
  readonly waiting: { readonly resolve: () => void; readonly reject: (reason: unknown) => void }[];
}

type InTrace = <T>(work: () => T) => T;

export class CollectionRequests {
  readonly #requests = new Map<PodUid, Request>();

  /** Resolves when the pod's worker has collected. */
  add(uid: PodUid, cause: CollectionCause, inTrace: InTrace = (work) => work()): Promise<void> {
    const request = this.#requests.get(uid) ?? { cause, inTrace, waiting: [] };
    if (cause === 'pressure') request.cause = cause;
    this.#requests.set(uid, request);
    return new Promise<void>((resolve, reject) => request.waiting.push({ resolve, reject }));
  }

  /**
   * Collects if that was requested. Only a cancelled run rejects; the next one collects again. A request that arrives meanwhile is
   * left to the next run: its cause may allow more.
   */
  async serve(uid: PodUid, collect: (cause: CollectionCause) => Promise<void>): Promise<void> {
    const request = this.#requests.get(uid);
    if (request === undefined) return;
    this.#requests.delete(uid);
    try {
      await request.inTrace(() => collect(request.cause));
    } catch (err) {
      if (isAbort(err)) {
        this.#restore(uid, request);
        throw err;
      }
      for (const { reject } of request.waiting) reject(err);
      return;
    }
    for (const { resolve } of request.waiting) resolve();
  }

  settle(uid: PodUid): void {
    this.#take(uid, ({ resolve }) => resolve());
  }

  rejectAll(reason: unknown): void {
    for (const uid of this.#requests.keys()) this.#take(uid, ({ reject }) => reject(reason));
  }

  #restore(uid: PodUid, request: Request): void {
    const later = this.#requests.get(uid);
    if (later?.cause === 'pressure') request.cause = later.cause;
    request.waiting.push(...(later?.waiting ?? []));
    this.#requests.set(uid, request);
  }

  #take(uid: PodUid, settle: (waiting: Request['waiting'][number]) => void): void {
    const request = this.#requests.get(uid);
    this.#requests.delete(uid);
    for (const each of request?.waiting ?? []) settle(each);
  }
}
