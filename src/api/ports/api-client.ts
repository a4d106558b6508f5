// The API client as features use it. Types only: edge/apiserver implements it, and test/api-server is a server double behind
// the same client. Errors are KubeletErrors with the `reason` of the server's Status (NotFound, AlreadyExists, Conflict,
// Expired …) and, after a response, its HTTP status as the detail `code`.
// Upstream: staging/src/k8s.io/client-go (rest, tools/cache/reflector.go).
import type { ObjectMeta } from '../k8s/types.ts';

type ApiMethod = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/**
 * The rate limit of a request: kubeAPIQPS, eventRecordQPS, or none for heartbeats, so that a busy node stays Ready.
 * Reviews have separate limits, since clients of the kubelet's ports cause them. Heartbeats have a separate timeout.
 */
export type ApiLimiter = 'requests' | 'events' | 'heartbeats' | 'token-reviews' | 'access-reviews';

export type ApiQuery = Readonly<Record<string, string | number | boolean | undefined>>;

export interface ApiCallOptions {
  readonly signal: AbortSignal;
  readonly query?: ApiQuery;
  /** For the whole call, including the rate limit and retries. Default: the client's. */
  readonly timeoutMs?: number;
  /** Default: `requests`. */
  readonly limiter?: ApiLimiter;
}

export interface ApiRequest extends ApiCallOptions {
  readonly method: ApiMethod;
  /** Absolute, with escaped segments (see apiPath): `/api/v1/nodes/n1/status`. */
  readonly path: string;
  readonly body?: unknown;
  /** Default: `application/json`. */
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
  /** All changes up to this resource version were delivered. */
  | { readonly type: 'BOOKMARK'; readonly object: KubeObject };

export interface ApiClient {
  request<T>(request: ApiRequest): Promise<T>;
  get<T>(path: string, options: ApiCallOptions): Promise<T>;
  /** One page, according to the query. */
  list<T>(path: string, options: ApiCallOptions): Promise<KubeList<T>>;
  create<T>(path: string, body: unknown, options: ApiCallOptions): Promise<T>;
  update<T>(path: string, body: unknown, options: ApiCallOptions): Promise<T>;
  patch<T>(path: string, kind: PatchKind, body: unknown, options: ApiCallOptions): Promise<T>;
  delete<T>(path: string, body: DeleteOptions, options: ApiCallOptions): Promise<T>;
  /**
   * Ends when the server ends it; throws if the connection breaks or the server reports an error such as `Expired` (410).
   * Its only deadlines are the `timeoutSeconds` of the query and the signal. Leaving the loop closes the stream.
   */
  watch<T>(path: string, query: ApiQuery, signal: AbortSignal): AsyncIterable<WatchEvent<T>>;
  /** Closes every connection, after repeated heartbeat failures: the next request opens a new one. */
  closeConnections(): void;
}

export interface WatchTarget {
  /** Of the collection: `/api/v1/pods`. */
  readonly path: string;
  readonly fieldSelector?: string;
  readonly labelSelector?: string;
}

/** Receives the state of a watched collection. Calls are sequential and must not throw. */
export interface WatchSink<T> {
  /** The complete collection, after every list. Objects that are missing from it were deleted. */
  replace(objects: readonly T[]): void;
  upsert(object: T): void;
  /** With the object's last state. */
  remove(object: T): void;
  /**
   * What was kept of the collection while the server cannot be reached, once and before the first `replace`. It may be incomplete.
   * Default: `replace`.
   */
  provisional?(objects: readonly T[]): void;
  /** A list or watch failed and will be retried. For logs and health only. */
  failed?(err: unknown): void;
}

/** The reflector: lists, watches, resumes and relists a collection until the signal is aborted. Never rejects. */
export type Follow = <T extends KubeObject>(
  target: WatchTarget,
  sink: WatchSink<T>,
  signal: AbortSignal,
) => Promise<void>;

/** Joins and escapes path segments: `apiPath('api', 'v1', 'namespaces', ns, 'pods', name)`. */
export function apiPath(...segments: readonly string[]): string {
  return segments.map((segment) => `/${encodeURIComponent(segment)}`).join('');
}
