// /logs/: the files below /var/log, and where it is switched on, queries for the logs of the node's services.
// Upstream: http.FileServer and the log server of pkg/kubelet/kubelet.go; pkg/kubelet/kubelet_server_journal.go.
// Invariant: nothing outside the directory is told, whatever links and paths say.
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
import { released } from '../released.ts';
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
      /** From one byte to before another; closes the file when it has ended. */
      read(from: number, to: number): HttpStream;
      close(): Promise<void>;
    };

export interface SystemLogsDeps {
  readonly files: {
    /** Undefined when there is none; rejects as forbidden when it may not be read or leads elsewhere. */
    open(path: string, signal: AbortSignal): Promise<SystemLog | undefined>;
  };
  readonly journal: {
    /** The units that have written to the journal; undefined where there is no journalctl. */
    units(signal: AbortSignal): Promise<string | undefined>;
    read(args: readonly string[], signal: AbortSignal): HttpStream;
  };
  /** enableSystemLogQuery with its gate. */
  readonly queries: boolean;
}

/** Each runs journalctl, which may search a journal of gigabytes for a pattern. differs from upstream: there any number run. */
const mostQueries = 4;

export function systemLogsHandler(deps: SystemLogsDeps): RouteHandler {
  const queries = { running: 0 };
  return async (request) => {
    const path = request.params['logpath'] ?? '';
    if (!deps.queries) return await serveFile(deps, request, path, request.path.endsWith('/'));
    const parsed = parseLogQuery(request.query);
    if (parsed.kind === 'wrong') return errorResponse(400, joinErrors(parsed.errors));
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
  if (queries.running >= mostQueries)
    return errorResponse(429, `${mostQueries} log queries are running, try again later`);
  queries.running += 1;
  const zipped = request.headers['accept-encoding'] === 'gzip';
  const logs = serviceLogs(deps, query, request.signal);
  const text = zipped ? zip(logs) : logs;
  return {
    status: 200,
    headers: {
      'content-type': 'text/plain;charset=UTF-8',
      ...(zipped ? { 'content-encoding': 'gzip' } : {}),
    },
    body: released(text, () => {
      queries.running -= 1;
    }),
  };
}

/** Fails with what it is made of, and ends it when nobody wants it any more. */
async function* zip(text: HttpStream): HttpStream & AsyncGenerator<Uint8Array> {
  const gzip = createGzip({ level: 1 });
  // What goes wrong is heard by who reads.
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
    yield line('there is no journalctl on this node: only files were looked for');
}

async function findLog(
  { files }: SystemLogsDeps,
  service: string,
  signal: AbortSignal,
): Promise<Extract<SystemLog, { kind: 'file' }> | undefined> {
  for (const name of [service, `${service}.log`, `${service}/${service}.log`]) {
    const found = await files.open(name, signal).catch(notForUs);
    if (found?.kind === 'file') return found;
  }
  return undefined;
}

/** What leads elsewhere or may not be read is not the log that is looked for. */
function notForUs(err: unknown): undefined {
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

/** One range; who asks for several gets everything, as it has to be ready for. */
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

/** Relative, since a proxy may have another path before ours. */
function moved(location: string): HttpResponse {
  return { status: 301, headers: { location }, body: '' };
}
