// A test double of the API server: behaves like a real one to kubelets and kubectl, in memory, on the injected clock,
// with the Node authorizer and NodeRestriction enabled. Fronts: memory-transport.ts and http-front.ts.
// Invariant: every request gets exactly one response and one entry in `requests`.
import type { Clock } from '../../src/base/clock.ts';
import { isAbort } from '../../src/base/errors.ts';
import { ApiError, badRequest } from './api-error.ts';
import { discovery, newestMinor } from './discovery.ts';
import { Faults } from './faults.ts';
import { ClusterObjects } from './objects/cluster-objects.ts';
import { ObjectStore } from './objects/object-store.ts';
import { ResourceHandler } from './objects/resource-handler.ts';
import type { WatchStream } from './objects/watch-stream.ts';
import { Writes } from './objects/writes.ts';
import type { Call, RawRequest, RawResponse, User } from './request.ts';
import { fieldsOfQuery, isTrue, parsePath, selectedName, verbOf } from './request.ts';
import { authorize } from './rules/authorize.ts';
import type { CertificateOptions } from './rules/certificate-controllers.ts';
import { type Controllers, startControllers } from './rules/controllers.ts';
import type { PodSigner } from './rules/pod-signer.ts';
import { noGates, type ServerGates } from './rules/volume-health-rules.ts';
import { Tokens } from './tokens.ts';

interface ApiServerDoubleOptions {
  readonly clock: Clock;
  /** PodUserNamespace by their bearer tokens. */
  readonly users?: Readonly<Record<string, User>>;
  /** Whether pods get the volume with their service account's token, as in a real cluster. Default: true. */
  readonly automount?: boolean;
  /** Whether pods without a node are bound to a ready node. Default: true. */
  readonly schedule?: boolean;
  /** Signs CSRs of kubelets; without it they stay pending. */
  readonly sign?: (csrPem: string, signerName: string, seconds: number) => string;
  readonly certificates?: CertificateOptions;
  /** Signs the certificates of pods; without it their requests stay pending. */
  readonly podSigner?: PodSigner | undefined;
  /** The root certificate that pods are given. */
  readonly caPem?: string;
  /** The interval of bookmarks in watches. */
  readonly bookmarkMs?: number;
  /** The minor release that the server acts as. Default: the newest. */
  readonly minor?: number;
  /** The gate WatchList of the server. Default: true. */
  readonly watchLists?: boolean;
  /** Other gates of the server. Default: off. */
  readonly gates?: Partial<ServerGates>;
  /** In [0, 1), for generated names and UIDs. */
  readonly random?: () => number;
}

interface LoggedRequest {
  readonly user: string;
  readonly verb: string;
  readonly resource: string;
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
  readonly query: string;
  readonly code: number;
  readonly atMs: number;
}

const keptRequests = 10_000;
const json = { 'content-type': 'application/json' } as const;

export const adminUser: User = {
  name: 'kubernetes-admin',
  groups: ['system:masters', 'system:authenticated'],
};

export function nodeUser(name: string): User {
  return { name: `system:node:${name}`, groups: ['system:nodes', 'system:authenticated'] };
}

/** The user of a bootstrap token. */
export function bootstrapUser(id: string): User {
  return { name: `system:bootstrap:${id}`, groups: ['system:bootstrappers', 'system:authenticated'] };
}

export class ApiServerDouble {
  readonly store = new ObjectStore();
  readonly faults: Faults;
  /** Access for the test itself, with an administrator's rights. */
  readonly objects: ClusterObjects;
  readonly requests: LoggedRequest[] = [];
  /** Called with every request as it arrives. */
  onRequest: (request: RawRequest) => void = () => undefined;
  readonly watches = new Set<WatchStream>();
  /** Rights of users other than masters on the API of kubelets: `USER VERB SUBRESOURCE`. */
  readonly grants = new Set<string>();
  /** The minor release that the server acts as: a test may upgrade it. */
  minor: number;
  /** How often /version was read. */
  versionRequests = 0;
  readonly #clock: Clock;
  readonly #tokens: Tokens;
  readonly #handler: ResourceHandler;
  readonly #controllers: Controllers;
  readonly #gates: ServerGates;

  constructor(options: ApiServerDoubleOptions) {
    const { clock } = options;
    const { store, watches } = this;
    this.#clock = clock;
    this.minor = options.minor ?? newestMinor;
    this.#gates = { ...noGates, ...options.gates };
    this.faults = new Faults(clock, watches);
    const users = new Map(Object.entries(options.users ?? {}));
    this.#tokens = new Tokens({ store, clock, users });
    const writes = new Writes({
      store,
      clock,
      random: options.random ?? Math.random,
      automount: options.automount ?? true,
      minor: this.minor,
      gates: this.#gates,
    });
    this.#handler = new ResourceHandler({
      store,
      clock,
      writes,
      tokens: this.#tokens,
      grants: this.grants,
      watches,
      bookmarkMs: options.bookmarkMs ?? 60_000,
      watchLists: options.watchLists ?? true,
    });
    this.objects = new ClusterObjects(writes, store);
    this.#controllers = startControllers({
      store,
      objects: this.objects,
      schedule: options.schedule ?? true,
      sign: options.sign,
      certificates: options.certificates ?? {},
      podSigner: options.podSigner,
      caPem: options.caPem ?? 'no certificate',
      now: () => writes.now(),
    });
  }

  async handle(request: RawRequest): Promise<RawResponse> {
    let call: Call | undefined;
    let user: User | undefined;
    let response: RawResponse;
    this.onRequest(request);
    try {
      user = this.#tokens.authenticate(request);
      const url = new URL(request.path, 'http://double');
      const plain = discovery(url.pathname, this.minor);
      if (url.pathname === '/version') this.versionRequests++;
      if (plain !== undefined) return { status: 200, headers: json, body: JSON.stringify(plain) };
      call = callOf(request, url, user ?? anonymous);
      authorize(call, this.store, this.#gates);
      await this.faults.apply(call, 'before');
      response = await this.#handler.handle(call);
      await this.faults.apply(call, 'after');
    } catch (err) {
      if (isAbort(err) || request.signal.aborted) throw err;
      response = errorResponse(err);
    }
    if (call !== undefined) this.#record(call, response.status);
    return response;
  }

  /** All requests as `verb resource[/subresource] [namespace/]name`, for assertions. */
  requestLines(): readonly string[] {
    return this.requests.map(({ verb, resource, subresource, namespace, name }) => {
      const what = subresource === '' ? resource : `${resource}/${subresource}`;
      const which = [namespace, name].filter(Boolean).join('/');
      return which === '' ? `${verb} ${what}` : `${verb} ${what} ${which}`;
    });
  }

  /** Ends every watch and leaves no timer on the clock. */
  close(): void {
    this.#controllers.stop();
    this.faults.cutWatches();
  }

  #record(call: Call, code: number): void {
    this.requests.push({
      user: call.user.name,
      verb: call.verb,
      resource: call.type.plural,
      subresource: call.subresource,
      namespace: call.namespace,
      name: call.name,
      query: call.query.toString(),
      code,
      atMs: this.#clock.now(),
    });
    if (this.requests.length > keptRequests) this.requests.shift();
  }
}

const anonymous: User = { name: 'system:anonymous', groups: ['system:unauthenticated'] };

export function callOf(request: RawRequest, url: URL, user: User): Call {
  const place = parsePath(url.pathname);
  if (place === undefined) {
    throw new ApiError(404, 'NotFound', 'the server could not find the requested resource');
  }
  // Some clients send protobuf where the server accepts it; the double rejects it.
  if ((request.headers['content-type'] ?? '').includes('protobuf')) {
    throw new ApiError(
      415,
      'UnsupportedMediaType',
      'the body of the request was in an unknown format: send JSON',
    );
  }
  const query = url.searchParams;
  const fields = fieldsOfQuery(query);
  const verb = verbOf(request.method, place.name !== '', isTrue(query.get('watch')));
  if (verb === 'create' && place.name !== '' && place.subresource === '') {
    throw new ApiError(
      405,
      'MethodNotAllowed',
      'the server does not allow this method on the requested resource',
    );
  }
  if (place.type.namespaced && place.namespace === '' && !['list', 'watch'].includes(verb)) {
    throw badRequest('namespace is required');
  }
  return {
    user,
    verb,
    type: place.type,
    namespace: place.namespace,
    name: place.name === '' ? selectedName(fields) : place.name,
    subresource: place.subresource,
    query,
    fields,
    headers: request.headers,
    body: request.body,
    signal: request.signal,
  };
}

export function errorResponse(err: unknown): RawResponse {
  const error =
    err instanceof ApiError
      ? err
      : new ApiError(500, 'InternalError', `Internal error occurred: ${String(err)}`);
  const after = error.details?.retryAfterSeconds;
  return {
    status: error.code,
    headers: { ...json, ...(after === undefined ? {} : { 'retry-after': String(after) }) },
    body: JSON.stringify(error.status()),
  };
}
