// Proxies logs, exec, attach, port-forward and get --raw …/nodes/NAME/proxy/… to the kubelet of the node, on the
// kubelet's port, with the server's client certificate.
// Upstream: pkg/registry/core/{pod,node}/rest and apimachinery/pkg/util/proxy.
// Invariant: the newest WebSocket protocols are passed on to a node that declares ExtendWebSocketsToKubelet. A real server
// translates them into SPDY for other nodes; the double rejects them, so that kubectl falls back to SPDY. Protocols that
// runtimes speak are passed through, as older servers do.
import { request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { Socket } from 'node:net';
import type { Node, Pod } from '../../src/api/k8s/types.ts';
import { UpgradeProxy } from '../../src/edge/streams/upgrade-proxy.ts';
import { ApiError, badRequest, notFound } from './api-error.ts';
import { type ApiServerDouble, adminUser, callOf, errorResponse } from './double.ts';
import { checkLogAnswer, logQuery, passOn } from './log-answer.ts';
import { resourceOf } from './objects/resources.ts';
import type { KeyPair } from './pki.ts';
import type { Call, RawRequest, User } from './request.ts';
import { authorize } from './rules/authorize.ts';

interface Target {
  readonly host: string;
  readonly port: number;
  readonly path: string;
  /** Whether the node terminates WebSockets of the newest protocols. */
  readonly webSockets: boolean;
  /** The pod, for a request of its log. */
  readonly logOf?: string;
}

const kubeletPaths: Readonly<Record<string, string>> = {
  log: 'containerLogs',
  exec: 'exec',
  attach: 'attach',
  portforward: 'portForward',
};

export class KubeletProxy {
  readonly #client: KeyPair | undefined;
  readonly #secure: boolean;
  readonly #host: string | undefined;

  /**
   * `client`: the certificate that authenticates the server to the kubelet; `host`: the kubelets' address, if not their
   * node's.
   */
  constructor(
    client: KeyPair | undefined,
    options: { readonly secure?: boolean; readonly host?: string } = {},
  ) {
    this.#client = client;
    this.#secure = options.secure ?? true;
    this.#host = options.host;
  }

  /** False if the request is not for a kubelet. */
  async request(double: ApiServerDouble, raw: RawRequest, response: ServerResponse): Promise<boolean> {
    const target = this.#target(double, raw, raw.user);
    if (target === undefined) return false;
    const answer = await new Promise<IncomingMessage>((resolve, reject) => {
      const outgoing = this.#open(target, raw.method, { accept: '*/*' });
      raw.signal.addEventListener('abort', () => outgoing.destroy(), { once: true });
      outgoing.once('response', resolve);
      outgoing.on('error', (err) => reject(unreachable(target, err)));
      outgoing.end(raw.body);
    });
    if (target.logOf !== undefined) await checkLogAnswer(answer, target.logOf);
    const type = answer.headers['content-type'];
    response.writeHead(answer.statusCode ?? 502, type === undefined ? {} : { 'content-type': type });
    response.flushHeaders();
    await passOn(answer, response);
    return true;
  }

  upgrade(
    double: ApiServerDouble,
    request: IncomingMessage,
    socket: Socket,
    head: Buffer,
    user: User | undefined,
  ): void {
    try {
      const raw: RawRequest = {
        method: request.method ?? 'GET',
        path: request.url ?? '/',
        headers: request.headers as Record<string, string>,
        body: '',
        user,
        signal: new AbortController().signal,
      };
      const target = this.#target(double, raw, user);
      if (target === undefined) throw badRequest('there is nothing to upgrade');
      if (isNewWebSocket(request) && !target.webSockets) {
        throw badRequest('websocket: upgrade to SPDY instead');
      }
      // The returned promise never rejects.
      void this.#streams(target).proxy(request, socket, head, { url: urlOf(target, this.#secure) });
    } catch (err) {
      socket.on('error', () => socket.destroy());
      socket.end(refusal(err));
    }
  }

  #streams(target: Target): UpgradeProxy {
    return new UpgradeProxy({
      idleMs: 0,
      tls: { rejectUnauthorized: false, ...this.#client },
      answer: (err) => refusal(unreachable(target, err)),
    });
  }

  #open({ host, path, port }: Target, method: string, headers: Record<string, string | string[]>) {
    const options = { host, port, path, method, headers, agent: false as const };
    return this.#secure
      ? httpsRequest({ ...options, rejectUnauthorized: false, ...this.#client })
      : httpRequest(options);
  }

  #target(double: ApiServerDouble, raw: RawRequest, user: User | undefined): Target | undefined {
    const target = this.#nodeTarget(double, raw, user);
    return target && { ...target, host: this.#host ?? target.host };
  }

  /** The kubelet and the path on it; undefined if the request is not for a kubelet. */
  #nodeTarget(double: ApiServerDouble, raw: RawRequest, user: User | undefined): Target | undefined {
    const url = new URL(raw.path, 'http://double');
    // An upgrade with a bearer token acts as the administrator.
    const authorized = (): Call => {
      const call = callOf(raw, url, user ?? adminUser);
      authorize(call, double.store);
      return call;
    };
    const below = /^\/api\/v1\/nodes\/[^/]+\/proxy(\/.*)?$/.exec(url.pathname);
    if (below !== null) {
      const { name } = authorized();
      const node = double.objects.get('nodes', '', name);
      if (node === undefined) throw notFound(resourceOf('nodes'), name);
      return { ...endpointOf(node), path: `${below[1] ?? '/'}${url.search}` };
    }
    const kind = kubeletPaths[podStream.exec(url.pathname)?.[1] ?? ''];
    return kind === undefined ? undefined : podTarget(double, kind, authorized(), url);
  }
}

const podStream = /^\/api\/v1\/namespaces\/[^/]+\/pods\/[^/]+\/(log|exec|attach|portforward)$/;

function podTarget(double: ApiServerDouble, kind: string, call: Call, url: URL): Target {
  const pod = double.objects.get('pods', call.namespace, call.name);
  if (pod === undefined) throw notFound(resourceOf('pods'), call.name);
  const node = double.objects.get('nodes', '', pod.spec?.nodeName ?? '');
  if (node === undefined) throw badRequest(`pod ${call.name} does not have a host assigned`);
  const container = kind === 'portForward' ? '' : `/${containerOf(pod, url)}`;
  const isLog = kind === kubeletPaths['log'];
  const query = isLog ? logQuery(url.searchParams) : new URLSearchParams(url.search);
  query.delete('container');
  const rest = query.size === 0 ? '' : `?${kubeletQuery(query)}`;
  const path = `/${kind}/${call.namespace}/${call.name}${container}${rest}`;
  return { ...endpointOf(node), path, ...(isLog && { logOf: call.name }) };
}

/** Whether only protocols are offered that runtimes do not speak and a real server translates. */
function isNewWebSocket({ headers }: IncomingMessage): boolean {
  if (String(headers.upgrade).toLowerCase() !== 'websocket') return false;
  const offered = (headers['sec-websocket-protocol'] ?? '').split(',');
  return !offered.some((each) => /^(v4\.)?(base64\.)?channel\.k8s\.io$/.test(each.trim()));
}

function urlOf({ host, path, port }: Target, secure: boolean): string {
  return `${secure ? 'https' : 'http'}://${host.includes(':') ? `[${host}]` : host}:${port}${path}`;
}

/** The query in the kubelet's parameter names. */
function kubeletQuery(query: URLSearchParams): string {
  const names: Readonly<Record<string, string>> = { stdin: 'input', stdout: 'output', stderr: 'error' };
  const renamed = new URLSearchParams();
  for (const [name, value] of query) {
    const isFlag = name in names || name === 'tty';
    renamed.append(names[name] ?? name, isFlag ? (value === 'true' ? '1' : '0') : value);
  }
  return renamed.toString();
}

function containerOf({ metadata, spec }: Pod, url: URL): string {
  const pod = metadata?.name ?? '';
  const { containers = [], ephemeralContainers = [], initContainers = [] } = spec ?? {};
  const requested = url.searchParams.get('container') ?? '';
  if (requested !== '') {
    const all = [...initContainers, ...containers, ...ephemeralContainers];
    if (all.some(({ name }) => name === requested)) return requested;
    throw badRequest(`container ${requested} is not valid for pod ${pod}`);
  }
  const [only, ...others] = containers.map(({ name }) => name);
  if (only !== undefined && others.length === 0) return only;
  const choice = [only, ...others].join(' ');
  throw badRequest(`a container name must be specified for pod ${pod}, choose one of: [${choice}]`);
}

function endpointOf(node: Node): Pick<Target, 'host' | 'port' | 'webSockets'> {
  const addresses = node.status?.addresses ?? [];
  const found =
    addresses.find(({ type }) => type === 'InternalIP') ?? addresses.find(({ type }) => type === 'Hostname');
  const port = node.status?.daemonEndpoints?.kubeletEndpoint?.Port ?? 10_250;
  if (found === undefined) throw badRequest('the node has no address');
  const webSockets = node.status?.declaredFeatures?.includes('ExtendWebSocketsToKubelet') === true;
  return { host: found.address, port, webSockets };
}

function unreachable(target: Target, err: Error): ApiError {
  return new ApiError(
    500,
    'InternalError',
    `Get "https://${target.host}:${target.port}${target.path}": ${err.message}`,
  );
}

function refusal(err: unknown): string {
  const { body, headers, status } = errorResponse(err);
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  const text = typeof body === 'string' ? body : '';
  return `HTTP/1.1 ${status} Refused\r\n${lines.join('\r\n')}\r\nconnection: close\r\n\r\n${text}`;
}
