// Serves the files of the node's page below /ui/. They are read when they are first requested, and dropped after a minute without
// a request. Upstream has no counterpart.
// Invariant: only names of the manifest are read, whatever a client requests.
import type { HttpRequest, HttpResponse } from '../../api/ports/http.ts';
import { untilAborted } from '../../base/abort/race-abort.ts';
import type { Clock, Timer } from '../../base/clock.ts';
import type { Component } from '../../base/component.ts';
import { encodingOf, isCurrent, pageHeaders } from './page-headers.ts';
import { manifestName, type PageFile, parseManifest } from './page-manifest.ts';

interface PageFilesDeps {
  /** Reads a file of the page; undefined if it does not exist. */
  readonly read: (name: string) => Promise<Uint8Array | undefined>;
  readonly clock: Pick<Clock, 'setTimer'>;
}

type PageRequest = Pick<HttpRequest, 'headers'> & { readonly params: Readonly<Record<string, string>> };

const idleMs = 60_000;
const startFile = 'index.html';
const suffixes = { br: '.br', gzip: '.gz' } as const;
const plainText = { 'content-type': 'text/plain; charset=utf-8', 'x-content-type-options': 'nosniff' };
const notBuilt = 'This kubelet has no page: the files of the page were not built (make build).\n';

export class PageFiles implements Component {
  readonly name = 'page-files';
  readonly #deps: PageFilesDeps;
  readonly #read = new Map<string, Promise<Uint8Array | undefined>>();
  #idle: Timer | undefined;
  #isStopped = false;

  constructor(deps: PageFilesDeps) {
    this.#deps = deps;
  }

  async start(signal: AbortSignal): Promise<{ readonly stopped: Promise<void> }> {
    return { stopped: this.#untilStopped(signal) };
  }

  async #untilStopped(signal: AbortSignal): Promise<void> {
    await untilAborted(signal);
    this.#isStopped = true;
    this.#drop();
  }

  /** The handler of /ui/ and /ui/NAME. */
  readonly handle = async ({ headers, params }: PageRequest): Promise<HttpResponse> => {
    this.#keep();
    const manifest = await this.#bytes(manifestName);
    if (manifest === undefined) return { status: 404, headers: plainText, body: notBuilt };
    const file = parseManifest(Buffer.from(manifest).toString()).get(params['file'] ?? startFile);
    return file === undefined
      ? { status: 404, headers: plainText, body: '404 page not found\n' }
      : await this.#answer(file, headers);
  };

  async #answer(file: PageFile, headers: HttpRequest['headers']): Promise<HttpResponse> {
    const own = pageHeaders(file);
    if (isCurrent(file, one(headers['if-none-match']))) return { status: 304, headers: own, body: '' };
    const encoding = encodingOf(file, one(headers['accept-encoding']));
    const body = await this.#bytes(`${file.name}${encoding === undefined ? '' : suffixes[encoding]}`);
    // The package was replaced under the running kubelet.
    if (body === undefined) return { status: 404, headers: plainText, body: notBuilt };
    const encoded = encoding === undefined ? own : { ...own, 'content-encoding': encoding };
    return { status: 200, headers: encoded, body };
  }

  async #bytes(name: string): Promise<Uint8Array | undefined> {
    const known = this.#read.get(name) ?? this.#deps.read(name);
    if (!this.#isStopped) this.#read.set(name, known);
    try {
      return await known;
    } catch (err) {
      this.#read.delete(name);
      throw err;
    }
  }

  #keep(): void {
    this.#idle?.cancel();
    if (!this.#isStopped) this.#idle = this.#deps.clock.setTimer(idleMs, () => this.#drop());
  }

  #drop(): void {
    this.#idle?.cancel();
    this.#idle = undefined;
    this.#read.clear();
  }
}

function one(header: string | readonly string[] | undefined): string | undefined {
  return typeof header === 'string' ? header : header?.join(',');
}
