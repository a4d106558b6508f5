// Passes on what `kubectl logs`, exec, attach and port-forward ask: to the kubelet of the pod's node, on its own port.
// Upstream: pkg/registry/core/{pod,node}/rest and apimachinery/pkg/util/proxy.
// Invariant: a real server speaks SPDY to kubelets, so a WebSocket is refused here and kubectl falls back to SPDY.
import { request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { Socket } from 'node:net';
import type { Node, Pod } from '../../api/k8s.ts';
import { ApiError, badRequest, notFound } from './api-error.ts';
import { authorize } from './authorize.ts';
import { type ApiServerDouble, adminUser, callOf, errorResponse } from './double.ts';
import type { KeyPair } from './pki.ts';
import type { RawRequest, User } from './request.ts';
import { resourceOf } from './resources.ts';

interface Target {
  readonly host: string;
  readonly port: number;
  readonly path: string;
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

  /** `client`: the certificate that the kubelet is to know the server by. */
  constructor(client: KeyPair | undefined, options: { readonly secure?: boolean } = {}) {
    this.#client = client;
    this.#secure = options.secure ?? true;
  }

  /** False when the request is none for a kubelet. */
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
    const type = answer.headers['content-type'];
    response.writeHead(answer.statusCode ?? 502, type === undefined ? {} : { 'content-type': type });
    response.flushHeaders();
    for await (const chunk of answer as AsyncIterable<Uint8Array>) response.write(chunk);
    response.end();
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
      if (String(request.headers.upgrade).toLowerCase() === 'websocket') {
        throw badRequest('websocket: upgrade to SPDY instead');
      }
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
      this.#tunnel(target, request, socket, head);
    } catch (err) {
      refuse(socket, err);
    }
  }

  #tunnel(target: Target, request: IncomingMessage, socket: Socket, head: Buffer): void {
    const headers: Record<string, string | string[]> = {};
    for (const [name, value] of Object.entries(request.headers)) {
      if (value !== undefined && name !== 'authorization' && name !== 'host') headers[name] = value;
    }
    const outgoing = this.#open(target, request.method ?? 'GET', headers);
    outgoing.on('error', (err) => refuse(socket, unreachable(target, err)));
    outgoing.once('upgrade', (response, upstream, firstBytes) => {
      const lines = [`HTTP/1.1 ${response.statusCode} ${response.statusMessage}`];
      for (let at = 0; at < response.rawHeaders.length; at += 2) {
        lines.push(`${response.rawHeaders[at]}: ${response.rawHeaders[at + 1]}`);
      }
      socket.write(`${lines.join('\r\n')}\r\n\r\n`);
      socket.write(firstBytes);
      upstream.write(head);
      upstream.pipe(socket).pipe(upstream);
      upstream.on('error', () => socket.destroy());
      upstream.once('close', () => socket.destroy());
      socket.once('close', () => upstream.destroy());
    });
    // An answer instead of an upgrade: what is wrong, in the kubelet's words.
    outgoing.once('response', (response) => {
      socket.write(`HTTP/1.1 ${response.statusCode} ${response.statusMessage}\r\nconnection: close\r\n\r\n`);
      response.pipe(socket);
    });
    outgoing.end();
  }

  #open({ host, path, port }: Target, method: string, headers: Record<string, string | string[]>) {
    const options = { host, port, path, method, headers, agent: false as const };
    return this.#secure
      ? httpsRequest({ ...options, rejectUnauthorized: false, ...this.#client })
      : httpRequest(options);
  }

  /** Where the pod's kubelet is; undefined when the request is none for a kubelet. */
  #target(double: ApiServerDouble, raw: RawRequest, user: User | undefined): Target | undefined {
    const url = new URL(raw.path, 'http://double');
    const match = /^\/api\/v1\/namespaces\/[^/]+\/pods\/[^/]+\/(log|exec|attach|portforward)$/.exec(
      url.pathname,
    );
    const kind = kubeletPaths[match?.[1] ?? ''];
    if (kind === undefined) return undefined;
    // Tokens are for requests; who comes here with one acts as the administrator.
    const call = callOf(raw, url, user ?? adminUser);
    authorize(call, double.store);
    const pod = double.objects.get('pods', call.namespace, call.name);
    if (pod === undefined) throw notFound(resourceOf('pods'), call.name);
    const node = double.objects.get('nodes', '', pod.spec?.nodeName ?? '');
    if (node === undefined) throw badRequest(`pod ${call.name} does not have a host assigned`);
    const container = kind === 'portForward' ? '' : `/${containerOf(pod, url)}`;
    const query = new URLSearchParams(url.search);
    query.delete('container');
    const rest = query.size === 0 ? '' : `?${kubeletQuery(query)}`;
    return { ...endpointOf(node), path: `/${kind}/${call.namespace}/${call.name}${container}${rest}` };
  }
}

/** The kubelet's names for what kubectl asks the server. */
function kubeletQuery(query: URLSearchParams): string {
  const names: Readonly<Record<string, string>> = { stdin: 'input', stdout: 'output', stderr: 'error' };
  const renamed = new URLSearchParams();
  for (const [name, value] of query) {
    const isFlag = name in names || name === 'tty';
    renamed.append(names[name] ?? name, isFlag ? (value === 'true' ? '1' : '0') : value);
  }
  return renamed.toString();
}

function containerOf(pod: Pod, url: URL): string {
  const asked = url.searchParams.get('container');
  if (asked !== null && asked !== '') return asked;
  const preferred = pod.metadata?.annotations?.['kubectl.kubernetes.io/default-container'];
  const name = preferred ?? pod.spec?.containers[0]?.name;
  if (name === undefined) throw badRequest('a container name must be specified');
  return name;
}

function endpointOf(node: Node): Pick<Target, 'host' | 'port'> {
  const addresses = node.status?.addresses ?? [];
  const found =
    addresses.find(({ type }) => type === 'InternalIP') ?? addresses.find(({ type }) => type === 'Hostname');
  const port = node.status?.daemonEndpoints?.kubeletEndpoint?.Port ?? 10_250;
  if (found === undefined) throw badRequest('the node has no address');
  return { host: found.address, port };
}

function unreachable(target: Target, err: Error): ApiError {
  return new ApiError(
    500,
    'InternalError',
    `Get "https://${target.host}:${target.port}${target.path}": ${err.message}`,
  );
}

function refuse(socket: Socket, err: unknown): void {
  if (socket.destroyed) return;
  const { body, headers, status } = errorResponse(err);
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  socket.end(
    `HTTP/1.1 ${status} Refused\r\n${lines.join('\r\n')}\r\nconnection: close\r\n\r\n${typeof body === 'string' ? body : ''}`,
  );
}
