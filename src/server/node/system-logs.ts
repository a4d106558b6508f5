// /logs/: the files below /var/log and, if enabled, queries for the logs of the node's services.
// Upstream: http.FileServer and the log server of pkg/kubelet/kubelet.go; pkg/kubelet/kubelet_server_journal.go.
// Invariant: nothing outside the directory is served, whatever links and paths a request uses.
import { pipeline } from 'node:stream';
import { createGzip } from 'node:zlib';
import type { HttpAnswer, HttpStream } from '../../api/ports/http.ts';
import { isKind } from '../../base/errors.ts';
import {
  errorResponse,
  type HttpResponse,
  notFound,
  type RoutedRequest,
  type RouteHandler,
} from '../http-message.ts';
import { withRelease } from '../with-release.ts';
import {
  hasOptions,
  joinErrors,
  journalArguments,
  type LogQuery,
  parseLogQuery,
  queryErrors,
} from './log-query.ts';

export type SystemLog =
  | { readonly kind: 'directory'; readonly changedAtMs: number; readonly entries: readonly string[] }
  | {
      readonly kind: 'file';
      readonly changedAtMs: number;
      readonly bytes: number;
      readonly looksLikeText: boolean;
      /** The bytes [from, to); closes the file at the end. */
      read(from: number, to: number): HttpStream;
      close(): Promise<void>;
    };

export interface SystemLogsDeps {
  readonly files: {
    /** Undefined if the path does not exist; rejects as forbidden if it may not be read or leads out of the directory. */
    open(path: string, signal: AbortSignal): Promise<SystemLog | undefined>;
  };
  readonly journal: {
    /** The units that have written to the journal; undefined without journalctl. */
    units(signal: AbortSignal): Promise<string | undefined>;
    read(args: readonly string[], signal: AbortSignal): HttpStream;
  };
  /** enableSystemLogQuery and its gate. */
  readonly queries: boolean;
}

/** Each runs journalctl, which may search gigabytes for a pattern. differs from upstream: there the number is unlimited. */
const maxQueries = 4;

export function systemLogsHandler(deps: SystemLogsDeps): RouteHandler {
  const queries = { running: 0 };
  return async (request) => {
    const path = request.params['logpath'] ?? '';
    if (!deps.queries) return await serveFile(deps, request, path, request.path.endsWith('/'));
    const parsed = parseLogQuery(request.query);
    if (parsed.kind === 'invalid') return errorResponse(400, joinErrors(parsed.errors));
    if (parsed.kind === 'none') return await serveFile(deps, request, path, request.path.endsWith('/'));
    if (path !== '') return errorResponse(406, 'path not allowed in query mode');
    return await answerQuery(deps, request, parsed.query, queries);
  };
}

async function answerQuery(
  deps: SystemLogsDeps,
  request: RoutedRequest,
  query: LogQuery,
  queries: { running: number },
): Promise<HttpAnswer> {
  const file = query.files.length === 1 ? (query.files[0] ?? '').replaceAll('\\', '/') : undefined;
  const problem = file === undefined ? undefined : await fileProblem(deps, file, request.signal);
  const errors = queryErrors(query, problem);
  if (errors.length > 0) return errorResponse(406, joinErrors(errors));
  if (file !== undefined) return await serveFile(deps, request, file, false);
  if (queries.running >= maxQueries)
    return errorResponse(429, `${maxQueries} log queries are running, try again later`);
  queries.running += 1;
  const isGzip = request.headers['accept-encoding'] === 'gzip';
  const logs = serviceLogs(deps, query, request.signal);
  const text = isGzip ? gzipStream(logs) : logs;
  return {
    status: 200,
    headers: {
      'content-type': 'text/plain;charset=UTF-8',
      ...(isGzip ? { 'content-encoding': 'gzip' } : {}),
    },
    body: withRelease(text, () => {
      queries.running -= 1;
    }),
  };
}

/** Fails with its source, and ends the source when it is returned. */
async function* gzipStream(text: HttpStream): HttpStream & AsyncGenerator<Uint8Array> {
  const gzip = createGzip({ level: 1 });
  // The reader of `gzip` gets the error.
  pipeline(text, gzip, () => undefined);
  yield* gzip as AsyncIterable<Uint8Array>;
}

async function fileProblem(
  { files }: SystemLogsDeps,
  path: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  try {
    const found = await files.open(path, signal);
    if (found?.kind === 'file') await found.close();
    return found === undefined ? `statat ${path}: no such file or directory` : undefined;
  } catch (err) {
    if (isKind(err, 'forbidden')) return `statat ${path}: path escapes from parent`;
    throw err;
  }
}

async function* serviceLogs(
  deps: SystemLogsDeps,
  query: LogQuery,
  signal: AbortSignal,
): HttpStream & AsyncGenerator<Uint8Array> {
  const units = await deps.journal.units(signal);
  const native = query.services.filter((service) => units?.includes(`${service}.service`) === true);
  const others = query.services.filter((service) => !native.includes(service));
  if (native.length > 0) yield* deps.journal.read(journalArguments(query, native), signal);
  if (others.length === 0) return;
  if (hasOptions(query)) {
    yield line(
      `options present and query resolved to log files for [${others.join(' ')}]\ntry without specifying options`,
    );
    return;
  }
  let missing = false;
  for (const service of others) {
    const found = await findLog(deps, service, signal);
    if (found !== undefined) yield* found.read(0, found.bytes);
    else {
      missing = true;
      yield line(`log not found for ${service}`);
    }
  }
  if (missing && units === undefined)
    yield line('journalctl is not available on this node: only files were searched');
}

async function findLog(
  { files }: SystemLogsDeps,
  service: string,
  signal: AbortSignal,
): Promise<Extract<SystemLog, { kind: 'file' }> | undefined> {
  for (const name of [service, `${service}.log`, `${service}/${service}.log`]) {
    const found = await files.open(name, signal).catch(ignoreForbidden);
    if (found?.kind === 'file') return found;
  }
  return undefined;
}

/** A path that may not be read counts as missing. */
function ignoreForbidden(err: unknown): undefined {
  if (!isKind(err, 'forbidden')) throw err;
}

function line(text: string): Uint8Array {
  return new TextEncoder().encode(`\n${text}\n`);
}

async function serveFile(
  { files }: SystemLogsDeps,
  request: RoutedRequest,
  path: string,
  slash: boolean,
): Promise<HttpAnswer> {
  let found: SystemLog | undefined;
  try {
    found = await files.open(path, request.signal);
  } catch (err) {
    if (isKind(err, 'forbidden')) return errorResponse(403, '403 Forbidden');
    throw err;
  }
  if (found === undefined) return notFound();
  const name = path.split('/').at(-1) ?? '';
  const headers = { 'last-modified': new Date(found.changedAtMs).toUTCString() };
  if (found.kind === 'directory')
    return slash || path === '' ? listing(found.entries, headers) : moved(`${encodeURIComponent(name)}/`);
  if (slash) {
    await found.close();
    return moved(`../${encodeURIComponent(name)}`);
  }
  return await content(request, found, headers);
}

async function content(
  request: RoutedRequest,
  file: Extract<SystemLog, { kind: 'file' }>,
  headers: Record<string, string>,
): Promise<HttpAnswer> {
  const since = Date.parse(String(request.headers['if-modified-since'] ?? ''));
  const range = rangeOf(request.headers['range'], file.bytes);
  if (Math.floor(file.changedAtMs / 1000) * 1000 <= since || range === 'beyond') {
    await file.close();
    return range === 'beyond'
      ? {
          ...errorResponse(416, 'invalid range: failed to overlap'),
          headers: { 'content-range': `bytes */${file.bytes}` },
        }
      : { status: 304, headers, body: '' };
  }
  const [from, to] = range ?? [0, file.bytes];
  return {
    status: range === undefined ? 200 : 206,
    headers: {
      ...headers,
      'content-type': file.looksLikeText ? 'text/plain; charset=utf-8' : 'application/octet-stream',
      'x-content-type-options': 'nosniff',
      'accept-ranges': 'bytes',
      'content-length': String(to - from),
      ...(range === undefined ? {} : { 'content-range': `bytes ${from}-${to - 1}/${file.bytes}` }),
    },
    body: file.read(from, to),
  };
}

/** A single range; a request for several gets the whole file, which HTTP allows. */
function rangeOf(
  header: string | readonly string[] | undefined,
  bytes: number,
): readonly [number, number] | 'beyond' | undefined {
  const match = /^bytes=(\d*)-(\d*)$/.exec(String(header ?? ''));
  if (match === null || header === 'bytes=-') return undefined;
  const [, first = '', last = ''] = match;
  const from = first === '' ? Math.max(0, bytes - Number(last)) : Number(first);
  const to = first === '' || last === '' ? bytes : Math.min(bytes, Number(last) + 1);
  return from < to ? [from, to] : 'beyond';
}

const escapes: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&#34;',
  "'": '&#39;',
};

function listing(entries: readonly string[], headers: Record<string, string>): HttpResponse {
  const links = entries.map((entry) => {
    const href = entry.split('/').map(encodeURIComponent).join('/');
    const shown = entry.replace(/[&<>"']/g, (found) => escapes[found] ?? found);
    return `<a href="${href}">${shown}</a>\n`;
  });
  return {
    status: 200,
    headers: { ...headers, 'content-type': 'text/html; charset=utf-8' },
    body: `<!doctype html>\n<meta name="viewport" content="width=device-width">\n<pre>\n${links.join('')}</pre>\n`,
  };
}

/** Relative, since a proxy may add a path prefix. */
function moved(location: string): HttpResponse {
  return { status: 301, headers: { location }, body: '' };
}
