// A request of the double with its path parsed. Types and parsing only.
// Upstream: apiserver/pkg/endpoints/request (RequestInfo).
import { type FieldRequirement, parseFieldSelector } from '../../src/api/k8s/field-selector.ts';
import { badRequest } from './api-error.ts';
import { findResource, type ResourceType } from './objects/resources.ts';

export interface User {
  readonly name: string;
  readonly groups: readonly string[];
  readonly uid?: string;
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

/** A request as a front passes it, over HTTP or in memory. */
export interface RawRequest {
  readonly method: string;
  /** Including the query. */
  readonly path: string;
  /** By lower-case names. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: string;
  /** Of the client certificate; without one, the bearer token decides. */
  readonly user?: User | undefined;
  readonly signal: AbortSignal;
}

export interface RawResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | AsyncIterable<string>;
}

export type Verb = 'get' | 'list' | 'watch' | 'create' | 'update' | 'patch' | 'delete' | 'deletecollection';

export interface Call {
  readonly user: User;
  readonly verb: Verb;
  readonly type: ResourceType;
  readonly namespace: string;
  /** '' for collections, unless a field selector selects one name. */
  readonly name: string;
  readonly subresource: string;
  readonly query: URLSearchParams;
  readonly fields: readonly FieldRequirement[];
  readonly headers: RawRequest['headers'];
  readonly body: string;
  readonly signal: AbortSignal;
}

interface Place {
  readonly type: ResourceType;
  readonly namespace: string;
  readonly name: string;
  readonly subresource: string;
  /** The segments after the subresource, for proxy paths. */
  readonly rest: readonly string[];
}

/** Parses `/api/v1/namespaces/ns/pods/name/status`; undefined if it is not a resource path. */
export function parsePath(pathname: string): Place | undefined {
  const parts = pathname.split('/').filter(Boolean).map(decodeURIComponent);
  const grouped = parts[0] === 'apis';
  if (parts[0] !== 'api' && !grouped) return undefined;
  const [group, version] = grouped ? [parts[1], parts[2]] : ['', parts[1]];
  if (group === undefined || version === undefined) return undefined;
  let rest = parts.slice(grouped ? 3 : 2);
  let namespace = '';
  if (rest[0] === 'namespaces' && rest.length > 2 && rest[2] !== 'status' && rest[2] !== 'finalize') {
    namespace = rest[1] ?? '';
    rest = rest.slice(2);
  }
  const type = findResource(group, version, rest[0] ?? '');
  if (type === undefined) return undefined;
  return { type, namespace, name: rest[1] ?? '', subresource: rest[2] ?? '', rest: rest.slice(3) };
}

export function verbOf(method: string, hasName: boolean, isWatch: boolean): Verb {
  if (method === 'POST') return 'create';
  if (method === 'PUT') return 'update';
  if (method === 'PATCH') return 'patch';
  if (method === 'DELETE') return hasName ? 'delete' : 'deletecollection';
  if (method !== 'GET') throw badRequest(`the server does not know the method ${method}`);
  if (isWatch) return 'watch';
  return hasName ? 'get' : 'list';
}

/** A request of a collection with metadata.name as selector counts as a request of that object. */
export function selectedName(fields: readonly FieldRequirement[]): string {
  return fields.find(({ field, operator }) => field === 'metadata.name' && operator === '=')?.value ?? '';
}

export function fieldsOfQuery(query: URLSearchParams): readonly FieldRequirement[] {
  const text = query.get('fieldSelector');
  return text === null ? [] : parseFieldSelector(text);
}

export function isTrue(text: string | null): boolean {
  return text === 'true' || text === '1';
}
