// Serves /explain/history: why containers and pods ended. Upstream has no counterpart.
// Invariant: the response is bounded by the reader, and its query is checked before anything is read.
import { describeError, isAbort } from '../base/errors.ts';
import { errorResponse, jsonResponse, type RouteHandler } from './http-message.ts';

export interface HistorySource {
  read(
    query: {
      readonly namespace?: string | undefined;
      readonly pod?: string | undefined;
      readonly uid?: string | undefined;
      readonly limit: number;
    },
    signal: AbortSignal,
  ): Promise<{ readonly lines: readonly string[]; readonly more: boolean }>;
}

type Query = Parameters<HistorySource['read']>[0];

const defaultLimit = 100;
const maxLimit = 1000;
/** The longest name of a pod. */
const maxNameLength = 253;
const parameters: readonly string[] = ['pod', 'uid', 'limit'];

export function historyHandler(history: HistorySource): RouteHandler {
  return async ({ query, signal }) => {
    const parsed = parseQuery(query);
    if ('problem' in parsed) return errorResponse(400, parsed.problem);
    try {
      const { lines, more } = await history.read(parsed, signal);
      return jsonResponse(`{"records":[${lines.join(',')}],"more":${more}}\n`);
    } catch (err) {
      if (isAbort(err)) throw err;
      return errorResponse(500, `Failed to read the history: ${describeError(err)}`);
    }
  };
}

function parseQuery(query: URLSearchParams): Query | { readonly problem: string } {
  for (const name of new Set(query.keys())) {
    if (!parameters.includes(name)) return { problem: `unknown parameter; use ${parameters.join(', ')}` };
    if (query.getAll(name).length > 1) return { problem: `${name} is set more than once` };
  }
  const limitText = query.get('limit') ?? String(defaultLimit);
  const limit = /^\d{1,4}$/.test(limitText) ? Number(limitText) : 0;
  if (limit < 1 || limit > maxLimit) return { problem: `limit must be a whole number from 1 to ${maxLimit}` };
  const uid = query.get('uid') ?? undefined;
  if (uid !== undefined && !isName(uid)) return { problem: 'uid must be the UID of a pod' };
  const ref = query.get('pod')?.split('/');
  if (ref === undefined) return { uid, limit };
  const [namespace = '', pod = '', ...rest] = ref;
  if (rest.length > 0 || !isName(namespace) || !isName(pod)) {
    return { problem: 'pod must be NAMESPACE/NAME' };
  }
  return { namespace, pod, uid, limit };
}

function isName(text: string): boolean {
  return text.length > 0 && text.length <= maxNameLength;
}
