// Executes a call: reads, watches, writes and subresources. Upstream: apiserver/pkg/endpoints/handlers.
import type { SubjectAccessReview, TokenRequest, TokenReview } from '../../../src/api/k8s/types.ts';
import type { Clock } from '../../../src/base/clock.ts';
import { ApiError, badRequest, conflict } from '../api-error.ts';
import { type Call, isTrue, type RawResponse, type User } from '../request.ts';
import { mayAccess } from '../rules/authorize.ts';
import { boundPod } from '../rules/pod-rules.ts';
import type { Tokens } from '../tokens.ts';
import type { ObjectStore } from './object-store.ts';
import { checkInitialEvents, checkVersion, listPage, selectorOf } from './reads.ts';
import { apiVersionOf } from './resources.ts';
import type { StoredObject } from './stored-object.ts';
import { tableOf, wantsTable } from './tables.ts';
import { WatchStream } from './watch-stream.ts';
import type { DeleteBody, Writes } from './writes.ts';

interface ResourceHandlerDeps {
  readonly store: ObjectStore;
  readonly clock: Clock;
  readonly writes: Writes;
  readonly tokens: Tokens;
  /** Rights of users other than masters on the API of kubelets: `USER VERB SUBRESOURCE`. */
  readonly grants: ReadonlySet<string>;
  readonly watches: Set<WatchStream>;
  readonly bookmarkMs: number;
  /** The gate WatchList of the server. */
  readonly watchLists: boolean;
}

const json = { 'content-type': 'application/json' } as const;
/** The timeout of a watch without its own. */
const longestWatchSeconds = 3_600;

export class ResourceHandler {
  readonly #deps: ResourceHandlerDeps;

  constructor(deps: ResourceHandlerDeps) {
    this.#deps = deps;
  }

  async handle(call: Call): Promise<RawResponse> {
    if (call.verb === 'watch') return this.#watch(call);
    if (call.verb === 'list') return answer(200, this.#list(call));
    if (call.verb === 'get') return answer(200, this.#get(call));
    if (call.type.virtual) return answer(201, this.#review(call));
    if (call.verb === 'create') return call.subresource === '' ? this.#create(call) : this.#createBelow(call);
    if (call.verb === 'update') return answer(200, this.#deps.writes.update(call, parse(call.body)));
    if (call.verb === 'patch') return this.#patch(call);
    if (call.verb === 'delete') return this.#delete(call);
    return this.#deleteCollection(call);
  }

  #list(call: Call): object {
    const { items, metadata } = listPage(call, this.#deps.store);
    if (wantsTable(call)) return tableOf(call.type, items, metadata, this.#deps.clock.now());
    // As on a real server, the items of a list have neither apiVersion nor kind.
    const plain = items.map(({ apiVersion: _a, kind: _k, ...rest }) => rest);
    return { kind: `${call.type.kind}List`, apiVersion: apiVersionOf(call.type), metadata, items: plain };
  }

  #get(call: Call): object {
    const object = this.#deps.writes.existing(call);
    if (!wantsTable(call)) return object;
    const { resourceVersion = '' } = object.metadata;
    return tableOf(call.type, [object], { resourceVersion }, this.#deps.clock.now());
  }

  #watch(call: Call): RawResponse {
    const { store, clock, watches, bookmarkMs } = this.#deps;
    const seconds = Number(call.query.get('timeoutSeconds') ?? longestWatchSeconds);
    const resourceVersion = call.query.get('resourceVersion') ?? '';
    checkInitialEvents(call, this.#deps.watchLists);
    checkVersion(resourceVersion, store);
    const stream = new WatchStream(store, clock, {
      type: call.type,
      namespace: call.namespace,
      matches: selectorOf(call),
      resourceVersion,
      bookmarks: isTrue(call.query.get('allowWatchBookmarks')),
      sendInitialEvents: isTrue(call.query.get('sendInitialEvents')),
      timeoutMs: seconds * 1000,
      bookmarkMs,
      show: wantsTable(call)
        ? (object) =>
            tableOf(
              call.type,
              [object],
              { resourceVersion: object.metadata.resourceVersion ?? '' },
              clock.now(),
            )
        : (object) => object,
    });
    stream.begin();
    watches.add(stream);
    const onAbort = (): void => stream.end();
    call.signal.addEventListener('abort', onAbort, { once: true });
    const lines = stream.lines();
    const forget = (): void => {
      watches.delete(stream);
      call.signal.removeEventListener('abort', onAbort);
    };
    return { status: 200, headers: json, body: untilDone(lines, forget) };
  }

  #create(call: Call): RawResponse {
    return answer(201, this.#deps.writes.create(call, parse(call.body)));
  }

  #createBelow(call: Call): RawResponse {
    const body = parse(call.body);
    const { plural } = call.type;
    if (plural === 'serviceaccounts' && call.subresource === 'token') {
      return answer(201, this.#deps.tokens.issue(call, body as TokenRequest));
    }
    if (plural === 'pods' && call.subresource === 'binding') return this.#bind(call, body);
    if (plural === 'pods' && call.subresource === 'eviction') {
      const options = (body as { deleteOptions?: DeleteBody }).deleteOptions ?? {};
      this.#deps.writes.delete({ ...call, subresource: '' }, options);
      return answer(201, success());
    }
    throw new ApiError(404, 'NotFound', 'the server could not find the requested resource');
  }

  #bind(call: Call, body: unknown): RawResponse {
    const { store, writes } = this.#deps;
    const pod = writes.existing(call) as StoredObject & { spec: { nodeName?: string } };
    const nodeName = (body as { target?: { name?: string } }).target?.name ?? '';
    if (nodeName === '') throw badRequest('target.name is required');
    if ((pod.spec.nodeName ?? '') !== '') {
      throw conflict(
        call.type,
        call.name,
        `pod ${call.name} is already assigned to node "${pod.spec.nodeName}"`,
      );
    }
    store.put(call.type, boundPod(pod, nodeName, writes.now()));
    return answer(201, success());
  }

  #patch(call: Call): RawResponse {
    const contentType = call.headers['content-type'] ?? '';
    const target = {
      ...call,
      subresource: call.subresource === 'ephemeralcontainers' ? '' : call.subresource,
    };
    return answer(200, this.#deps.writes.patch(target, contentType, parse(call.body)));
  }

  #delete(call: Call): RawResponse {
    const { object, gone } = this.#deps.writes.delete(call, deleteOptions(call));
    if (call.type.plural === 'pods' || !gone) return answer(200, object);
    const { group, plural } = call.type;
    const { uid = '' } = object.metadata;
    return answer(200, {
      ...success(),
      details: { name: call.name, ...(group === '' ? {} : { group }), kind: plural, uid },
    });
  }

  #deleteCollection(call: Call): RawResponse {
    const { writes, store } = this.#deps;
    const options = deleteOptions(call);
    const { items, metadata } = listPage(call, store);
    for (const { metadata: own } of items) {
      writes.delete({ ...call, name: own.name ?? '', namespace: own.namespace ?? '' }, options);
    }
    return answer(200, {
      kind: `${call.type.kind}List`,
      apiVersion: apiVersionOf(call.type),
      metadata,
      items,
    });
  }

  #review(call: Call): object {
    if (call.verb !== 'create') {
      throw new ApiError(
        405,
        'MethodNotAllowed',
        'the server does not allow this method on the requested resource',
      );
    }
    const body = parse(call.body) as Record<string, unknown>;
    const base = {
      kind: call.type.kind,
      apiVersion: apiVersionOf(call.type),
      metadata: {},
      spec: body['spec'],
    };
    if (call.type.kind === 'TokenReview')
      return { ...base, status: this.#tokenStatus(body as unknown as TokenReview) };
    if (call.type.kind === 'SelfSubjectReview') return { ...base, status: { userInfo: userInfo(call.user) } };
    const spec = (body as unknown as SubjectAccessReview).spec;
    const user =
      call.type.kind === 'SubjectAccessReview'
        ? { name: spec?.user ?? '', groups: spec?.groups ?? [] }
        : call.user;
    const allowed = mayAccess(user, spec, this.#deps.grants);
    return { ...base, status: { allowed, ...(allowed ? {} : { reason: 'no rule grants it' }) } };
  }

  #tokenStatus(review: TokenReview): object {
    const found = this.#deps.tokens.userOf(review.spec?.token ?? '');
    if (found === undefined) return { user: {}, error: 'invalid bearer token' };
    return { authenticated: true, user: userInfo(found.user), audiences: found.audiences };
  }
}

function userInfo({ name, ...rest }: User): object {
  return { username: name, ...rest };
}

function deleteOptions(call: Call): DeleteBody {
  const given = call.body === '' ? {} : (parse(call.body) as DeleteBody);
  const seconds = call.query.get('gracePeriodSeconds');
  return seconds === null ? given : { ...given, gracePeriodSeconds: Number(seconds) };
}

function parse(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    throw badRequest('the body of the request is not JSON');
  }
}

function success(): object {
  return { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success' };
}

function answer(status: number, body: object): RawResponse {
  return { status, headers: json, body: JSON.stringify(body) };
}

/** Calls `done` once when reading ends. A stream that is never read ends with the signal of its call. */
async function* untilDone(lines: AsyncGenerator<string>, done: () => void): AsyncGenerator<string> {
  try {
    yield* lines;
  } finally {
    done();
  }
}
