// PUT /debug/flags/v: changes the log verbosity at run time. Upstream: StringFlagPutHandler in
// k8s.io/apiserver/pkg/server/routes with GlogSetter of k8s.io/component-base/logs.
import type { HttpResponse, RouteHandler } from '../http-message.ts';

const maxBodyBytes = 1024;
const maxVerbosity = 2 ** 31 - 1;

export function logVerbosityHandler(verbosity: { set(level: number): void }): RouteHandler {
  return async (request) => {
    if (request.method !== 'PUT') return plain(406, 'unsupported http method');
    const text = new TextDecoder().decode(await request.readBody(maxBodyBytes));
    if (!/^\d+$/.test(text)) return plain(400, parseError(text, 'invalid syntax'));
    if (Number(text) > maxVerbosity) return plain(400, parseError(text, 'value out of range'));
    verbosity.set(Number(text));
    return plain(200, `successfully set klog.logging.verbosity to ${text}`);
  };
}

function parseError(text: string, why: string): string {
  return `strconv.ParseUint: parsing ${JSON.stringify(text)}: ${why}`;
}

function plain(status: number, text: string): HttpResponse {
  const headers = { 'content-type': 'text/plain', 'x-content-type-options': 'nosniff' };
  return { status, headers, body: `${text}\n` };
}
