// A client of one kubelet's HTTP API, over its unix socket or a port. Upstream: none.
// Invariants: every request ends by its deadline or signal with its socket closed; the body of a one-shot answer has at most
// 64 MiB; a stream is read as fast as its consumer takes it.
import { type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest, type RequestOptions } from 'node:https';
import { withDeadline } from '../../base/abort/deadline.ts';
import type { Clock } from '../../base/clock.ts';
import { KubeletError } from '../../base/errors.ts';
import type { Secret } from '../../base/log/secret.ts';
import { type ServerSentEvent, serverSentEvents } from './event-stream.ts';
import { connectionError, type NodeAddress, statusError } from './request-errors.ts';

export interface ServerAddress {
  readonly url: URL;
  readonly ca?: string | undefined;
  readonly cert?: string | undefined;
  readonly key?: Secret | undefined;
  readonly token?: Secret | undefined;
  readonly insecure: boolean;
}

interface NodeApiOptions {
  readonly at: { readonly socketPath: string } | ServerAddress;
  readonly clock: Clock;
}

const requestMs = 10_000;
const maxAnswerBytes = 64 * 1024 * 1024;
/** Of the answer to a rejected request. */
const maxErrorBytes = 8 * 1024;

interface Answered {
  readonly request: ClientRequest;
  readonly response: IncomingMessage;
}

export class NodeApi {
  readonly #options: NodeApiOptions;
  readonly #address: NodeAddress;

  constructor(options: NodeApiOptions) {
    this.#options = options;
    const { at } = options;
    this.#address =
      'url' in at ? { shown: at.url.origin, isSocket: false } : { shown: at.socketPath, isSocket: true };
  }

  /** Where it connects to, as messages name it. */
  get shown(): string {
    return this.#address.shown;
  }

  /** The body of a successful GET. */
  async get(path: string, signal: AbortSignal, deadlineMs = requestMs): Promise<string> {
    const what = `the kubelet's answer to GET ${path.split('?')[0] ?? ''}`;
    return await withDeadline({ clock: this.#options.clock, ms: deadlineMs, signal, what }, async (own) => {
      const { request, response } = await this.#open(path, own);
      try {
        return (await readBody(response, maxAnswerBytes)).toString('utf8');
      } catch (err) {
        throw this.#failure(err, own);
      } finally {
        request.destroy();
      }
    });
  }

  /** The chunks of a successful GET. Only the wait for the headers has a deadline. */
  async *stream(path: string, signal: AbortSignal): AsyncGenerator<Buffer> {
    const { clock } = this.#options;
    const what = `the kubelet's answer to GET ${path.split('?')[0] ?? ''}`;
    // The signal of the deadline ends with it, so that the stream has one of its own.
    const ended = new AbortController();
    const own = AbortSignal.any([signal, ended.signal]);
    try {
      const { response } = await withDeadline({ clock, ms: requestMs, signal, what }, () =>
        this.#open(path, own),
      );
      for await (const chunk of response as AsyncIterable<Buffer>) yield chunk;
    } catch (err) {
      throw this.#failure(err, signal);
    } finally {
      ended.abort();
    }
  }

  async *events(path: string, signal: AbortSignal): AsyncGenerator<ServerSentEvent> {
    yield* serverSentEvents(this.stream(path, signal));
  }

  /** Resolves with the response of a successful request, whose body has not been read. */
  async #open(path: string, signal: AbortSignal): Promise<Answered> {
    try {
      const answered = await this.#send(path, signal);
      const status = answered.response.statusCode ?? 0;
      if (status >= 200 && status < 300) return answered;
      const text = await readBody(answered.response, maxErrorBytes).catch(() => Buffer.alloc(0));
      answered.request.destroy();
      throw statusError(status, path, text.toString('utf8'), this.#address);
    } catch (err) {
      throw this.#failure(err, signal);
    }
  }

  #send(path: string, signal: AbortSignal): Promise<Answered> {
    const { at } = this.#options;
    return new Promise((resolve, reject) => {
      const options: RequestOptions = { agent: false, signal, headers: { 'user-agent': 'kubelet-command' } };
      const request =
        'url' in at
          ? sendTo(at, path, options)
          : httpRequest({ ...options, socketPath: at.socketPath, path, host: 'localhost' });
      request.once('response', (response) => resolve({ request, response }));
      // Also after the response, whose reader gets the error.
      request.on('error', reject);
      request.end();
    });
  }

  /** A connection that breaks after the abort broke because of it. */
  #failure(err: unknown, signal: AbortSignal): unknown {
    return signal.aborted ? signal.reason : connectionError(err, this.#address);
  }
}

function sendTo(
  { ca, cert, insecure, key, token, url }: ServerAddress,
  path: string,
  options: RequestOptions,
): ClientRequest {
  const prefix = url.pathname.replace(/\/$/, '');
  const headers = {
    ...(options.headers as Readonly<Record<string, string>>),
    ...(token !== undefined && { authorization: `Bearer ${token.reveal()}` }),
  };
  const target = new URL(`${prefix}${path}`, url);
  if (url.protocol === 'http:') return httpRequest(target, { ...options, headers });
  return httpsRequest(target, {
    ...options,
    headers,
    rejectUnauthorized: !insecure,
    ...(ca !== undefined && { ca }),
    ...(cert !== undefined && { cert }),
    ...(key !== undefined && { key: key.reveal() }),
  });
}

async function readBody(response: IncomingMessage, limitBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > limitBytes) {
      const limit = `${limitBytes / 1024 / 1024} MiB`;
      throw new KubeletError('invalid', 'TooLarge', `the kubelet's answer is larger than ${limit}`);
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
