// An image registry on loopback: the pull half of the OCI distribution API, with the authentication schemes of
// registries and injected faults, which apply in order.
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Blob, OciImage } from './oci.ts';

interface Credentials {
  readonly username: string;
  readonly password: string;
}

/** The authentication scheme. The registry itself issues tokens, for the same credentials. */
interface RegistryAuth extends Credentials {
  readonly scheme: 'basic' | 'token';
}

export type RegistryFault =
  | { readonly do: 'status'; readonly status: number; readonly on?: RequestKind }
  /** Delays the response. */
  | { readonly do: 'slow'; readonly ms: number; readonly on?: RequestKind }
  /** Sends half of the body and closes the connection. */
  | { readonly do: 'truncate'; readonly on?: RequestKind }
  /** Never responds. */
  | { readonly do: 'hang'; readonly on?: RequestKind };

type RequestKind = 'manifest' | 'blob';

interface RegistryRequest {
  readonly method: string;
  readonly path: string;
  readonly status: number;
}

const token = 'rig-token';

export class Registry {
  /** All requests with their status, in order. */
  readonly requests: RegistryRequest[] = [];
  readonly #images = new Map<string, OciImage>();
  readonly #blobs = new Map<string, Blob>();
  readonly #faults: RegistryFault[] = [];
  readonly #server: Server;
  #auth: RegistryAuth | undefined;

  constructor() {
    this.#server = createServer((request, response) => {
      this.#answer(request, response).catch(() => response.destroy());
    });
  }

  async start(): Promise<void> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
  }

  async stop(): Promise<void> {
    if (!this.#server.listening) return;
    this.#server.close();
    this.#server.closeAllConnections();
    await once(this.#server, 'close');
  }

  /** As in image names: 127.0.0.1:PORT */
  get host(): string {
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Serves the image under a name such as `team/app:1`. Returns its full name. */
  add(name: string, image: OciImage): string {
    const [repository, tag = 'latest'] = name.split(':');
    for (const key of [tag, image.manifest.digest]) this.#images.set(`${repository}:${key}`, image);
    for (const one of image.blobs) this.#blobs.set(one.digest, one);
    return `${this.host}/${name}`;
  }

  /** Requires these credentials from now on; none if undefined. */
  requireAuth(auth: RegistryAuth | undefined): void {
    this.#auth = auth;
  }

  /** Each fault applies once, to the next request of its kind, or of any kind. */
  addFault(...faults: readonly RegistryFault[]): void {
    this.#faults.push(...faults);
  }

  /** The number of faults that have not applied yet. */
  get faultsLeft(): number {
    return this.#faults.length;
  }

  clearFaults(): void {
    this.#faults.length = 0;
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', `http://${this.host}`);
    response.on('close', () => {
      this.requests.push({ method: request.method ?? '', path: url.pathname, status: response.statusCode });
    });
    if (url.pathname === '/token') return this.#giveToken(request, response);
    if (!this.#isAllowed(request)) return this.#requestCredentials(url, response);
    if (url.pathname === '/v2/') return send(response, 200, 'application/json', Buffer.from('{}'));
    const match = /^\/v2\/(.+)\/(manifests|blobs)\/([^/]+)$/.exec(url.pathname);
    const [, repository, kind, reference = ''] = match ?? [];
    const found =
      kind === 'manifests'
        ? this.#images.get(`${repository}:${reference}`)?.manifest
        : this.#blobs.get(reference);
    const fault = this.#takeFault(kind === 'manifests' ? 'manifest' : 'blob');
    if (fault?.do === 'hang') return;
    if (fault?.do === 'slow') await sleep(fault.ms);
    if (fault?.do === 'status') return sendError(response, fault.status, 'UNKNOWN', 'injected fault');
    if (found === undefined)
      return sendError(response, 404, kind === 'blobs' ? 'BLOB_UNKNOWN' : 'MANIFEST_UNKNOWN', 'not found');
    response.setHeader('Docker-Content-Digest', found.digest);
    send(response, 200, found.mediaType, found.bytes, {
      headOnly: request.method === 'HEAD',
      truncated: fault?.do === 'truncate',
    });
  }

  #takeFault(kind: RequestKind): RegistryFault | undefined {
    const at = this.#faults.findIndex((fault) => fault.on === undefined || fault.on === kind);
    return at < 0 ? undefined : this.#faults.splice(at, 1)[0];
  }

  #isAllowed(request: IncomingMessage): boolean {
    if (this.#auth === undefined) return true;
    const given = request.headers.authorization;
    return given === (this.#auth.scheme === 'token' ? `Bearer ${token}` : basic(this.#auth));
  }

  #requestCredentials(url: URL, response: ServerResponse): void {
    const scope = /^\/v2\/(.+)\/(?:manifests|blobs)\//.exec(url.pathname)?.[1];
    const challenge =
      this.#auth?.scheme === 'token'
        ? `Bearer realm="http://${this.host}/token",service="rig"${scope === undefined ? '' : `,scope="repository:${scope}:pull"`}`
        : 'Basic realm="rig"';
    response.setHeader('WWW-Authenticate', challenge);
    sendError(response, 401, 'UNAUTHORIZED', 'authentication required');
  }

  #giveToken(request: IncomingMessage, response: ServerResponse): void {
    if (this.#auth !== undefined && request.headers.authorization !== basic(this.#auth)) {
      sendError(response, 401, 'UNAUTHORIZED', 'wrong username or password');
      return;
    }
    send(
      response,
      200,
      'application/json',
      Buffer.from(JSON.stringify({ token, access_token: token, expires_in: 300 })),
    );
  }
}

function basic(credentials: Credentials): string {
  return `Basic ${Buffer.from(`${credentials.username}:${credentials.password}`).toString('base64')}`;
}

function send(
  response: ServerResponse,
  status: number,
  type: string,
  body: Buffer,
  how: { readonly headOnly?: boolean; readonly truncated?: boolean } = {},
): void {
  response.writeHead(status, { 'Content-Type': type, 'Content-Length': body.length });
  if (how.headOnly === true) {
    response.end();
  } else if (how.truncated === true) {
    response.write(body.subarray(0, Math.floor(body.length / 2)), () => response.destroy());
  } else {
    response.end(body);
  }
}

function sendError(response: ServerResponse, status: number, code: string, message: string): void {
  send(response, status, 'application/json', Buffer.from(JSON.stringify({ errors: [{ code, message }] })));
}
