// The API server as features ask for it. Types only: edge/apiserver implements them, the composition root plugs it in, and
// testing/api-server has a double behind the same client. Errors are KubeletErrors whose `reason` is that of the server's
// Status (NotFound, AlreadyExists, Conflict, Expired …) and whose details carry `code`, the HTTP status, when there was one.
// Upstream: staging/src/k8s.io/client-go (rest, tools/cache/reflector.go).
import type { ObjectMeta } from '../k8s/types.ts';

type ApiMethod = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/**
 * Whose rate limit a request counts against: kubeAPIQPS, eventRecordQPS, or none, so that a node that is busy stays alive.
 * Reviews have budgets of their own, since clients of the kubelet's ports cause them.
 * Heartbeats have a timeout of their own.
 */
export type ApiLimiter = 'requests' | 'events' | 'heartbeats' | 'token-reviews' | 'access-reviews';

export type ApiQuery = Readonly<Record<string, string | number | boolean | undefined>>;

export interface ApiCallOptions {
  readonly signal: AbortSignal;
  readonly query?: ApiQuery;
  /** The whole call, waiting for the rate limit and retries included; a default of the client unless told. */
  readonly timeoutMs?: number;
  /** `requests` unless told. */
  readonly limiter?: ApiLimiter;
}

export interface ApiRequest extends ApiCallOptions {
  readonly method: ApiMethod;
  /** From the server's root: `/api/v1/nodes/n1/status`; segments escaped where needed (see apiPath). */
  readonly path: string;
  readonly body?: unknown;
  /** `application/json` unless told. */
  readonly contentType?: string;
}

export type PatchKind = 'strategic' | 'merge' | 'json';

export interface DeleteOptions {
  readonly gracePeriodSeconds?: number;
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string };
  readonly propagationPolicy?: 'Orphan' | 'Background' | 'Foreground';
}

export interface KubeObject {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata?: ObjectMeta;
}

export interface KubeList<T> {
  readonly metadata?: {
    readonly resourceVersion?: string;
    readonly continue?: string;
    readonly remainingItemCount?: number;
  };
  readonly items?: readonly T[] | null;
}

export type WatchEvent<T> =
  | { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'; readonly object: T }
  /** Nothing has changed up to this resource version. */
  | { readonly type: 'BOOKMARK'; readonly object: KubeObject };

export interface ApiClient {
  request<T>(request: ApiRequest): Promise<T>;
  get<T>(path: string, options: ApiCallOptions): Promise<T>;
  /** One page, as the query has it. */
  list<T>(path: string, options: ApiCallOptions): Promise<KubeList<T>>;
  create<T>(path: string, body: unknown, options: ApiCallOptions): Promise<T>;
  update<T>(path: string, body: unknown, options: ApiCallOptions): Promise<T>;
  patch<T>(path: string, kind: PatchKind, body: unknown, options: ApiCallOptions): Promise<T>;
  delete<T>(path: string, body: DeleteOptions, options: ApiCallOptions): Promise<T>;
  /**
   * Ends when the server ends it; throws when it breaks or the server reports an error, for example `Expired` (410).
   * Has no deadline but the `timeoutSeconds` of the query, and the signal. Leaving the loop closes the stream.
   */
  watch<T>(path: string, query: ApiQuery, signal: AbortSignal): AsyncIterable<WatchEvent<T>>;
  /** Lets go of every connection, for when heartbeats fail again and again: the next request makes a new one. */
  closeConnections(): void;
}

export interface WatchTarget {
  /** Of the collection: `/api/v1/pods`. */
  readonly path: string;
  readonly fieldSelector?: string;
  readonly labelSelector?: string;
}

/** What is told of a collection. Calls come one after the other and must not throw. */
export interface WatchSink<T> {
  /** All objects there are, after every list: what is not among them has gone. */
  replace(objects: readonly T[]): void;
  upsert(object: T): void;
  /** With the object's last state. */
  remove(object: T): void;
  /** A list or watch failed and is tried again after a while; for logs and health, nothing needs to be done. */
  failed?(err: unknown): void;
}

/** Follows a collection until the signal is aborted: lists, watches, resumes, lists again when it must. Never rejects. */
export type Follow = <T extends KubeObject>(
  target: WatchTarget,
  sink: WatchSink<T>,
  signal: AbortSignal,
) => Promise<void>;

/** Joins path segments, escaping what a name may bring: `apiPath('api', 'v1', 'namespaces', ns, 'pods', name)`. */
export function apiPath(...segments: readonly string[]): string {
  return segments.map((segment) => `/${encodeURIComponent(segment)}`).join('');
}
