// Lists with selectors, in pages and at revisions. Upstream: apiserver/pkg/storage/etcd3 (GetList) and its continue
// tokens.
import { matchesFields } from '../../../src/api/k8s/field-selector.ts';
import { parseLabelSelector } from '../../../src/api/k8s/label-selector-text.ts';
import { matchesLabels } from '../../../src/api/k8s/labels.ts';
import { ApiError, badRequest, expired, invalid } from '../api-error.ts';
import type { Call } from '../request.ts';
import type { ObjectStore } from './object-store.ts';
import { fieldsOf } from './resources.ts';
import type { StoredObject } from './stored-object.ts';

interface Page {
  readonly items: readonly StoredObject[];
  readonly metadata: {
    readonly resourceVersion: string;
    readonly continue?: string;
    readonly remainingItemCount?: number;
  };
}

/** The predicate of the call's selectors. */
export function selectorOf(call: Pick<Call, 'type' | 'query' | 'fields'>): (object: StoredObject) => boolean {
  const labels = parseLabelSelector(call.query.get('labelSelector') ?? '');
  const known = Object.keys(fieldsOf(call.type, { apiVersion: '', kind: '', metadata: {} }));
  const unknown = call.fields.find(({ field }) => !known.includes(field));
  if (unknown !== undefined) throw badRequest(`field label not supported: ${unknown.field}`);
  return (object) =>
    matchesLabels(labels, object.metadata.labels ?? {}) &&
    matchesFields(call.fields, fieldsOf(call.type, object));
}

interface Continue {
  readonly revision: number;
  readonly after: number;
}

export function listPage(call: Call, store: ObjectStore): Page {
  const matches = selectorOf(call);
  const limit = Number(call.query.get('limit') ?? 0);
  const token = call.query.get('continue');
  checkVersion(call.query.get('resourceVersion') ?? '', store);
  const from: Continue = token === null ? { revision: store.revision, after: 0 } : readToken(token, store);
  const all = store.listAt(call.type, call.namespace, from.revision).filter(matches);
  // A list from the watch cache (resourceVersion=0) ignores the limit, as upstream.
  const whole = limit <= 0 || call.query.get('resourceVersion') === '0';
  const end = whole ? all.length : from.after + limit;
  const rest = all.length - end;
  return {
    items: all.slice(from.after, end),
    metadata: {
      resourceVersion: String(from.revision),
      ...(rest > 0
        ? { continue: writeToken({ revision: from.revision, after: end }), remainingItemCount: rest }
        : {}),
    },
  };
}

/** Throws if the client's version is newer than the store: it is of another server, or this one was restored. */
export function checkVersion(text: string, store: ObjectStore): void {
  if (text === '' || text === '0') return;
  const version = Number(text);
  if (!Number.isInteger(version)) throw badRequest(`invalid resource version "${text}"`);
  if (version <= store.revision) return;
  throw new ApiError(
    504,
    'Timeout',
    `Timeout: Too large resource version: ${version}, current: ${store.revision}`,
    {
      causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
      retryAfterSeconds: 1,
    },
  );
}

/** Throws if the parameters of a streamed list do not fit together, or the server does not stream lists. */
export function checkInitialEvents({ query, type }: Call, watchLists: boolean): void {
  const match = query.get('resourceVersionMatch');
  const reject = (field: string, why: string): ApiError => invalid(type, '', field, `Forbidden: ${why}`);
  if (query.get('sendInitialEvents') === null) {
    if (match === null) return;
    const why = 'resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided';
    throw reject('resourceVersionMatch', why);
  }
  if (match !== 'NotOlderThan') {
    const why = 'sendInitialEvents requires setting resourceVersionMatch to NotOlderThan';
    throw reject('resourceVersionMatch', why);
  }
  if (!watchLists) {
    const why = 'sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled';
    throw reject('sendInitialEvents', why);
  }
}

function writeToken(token: Continue): string {
  return Buffer.from(JSON.stringify(token)).toString('base64url');
}

function readToken(text: string, store: ObjectStore): Continue {
  const token = JSON.parse(Buffer.from(text, 'base64url').toString('utf8')) as Continue;
  if (token.revision < store.compactedTo) {
    throw expired('The provided continue parameter is too old to display a consistent list result.');
  }
  return token;
}
