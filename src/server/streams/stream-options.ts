// Parses and validates the options of stream requests. Pure.
// Upstream: kubelet/pkg/cri/streaming/remotecommand (NewOptions) and portforward (NewV4Options).
import type { HttpRequest } from '../../api/ports/http.ts';

interface ExecStreams {
  readonly stdin: boolean;
  readonly stdout: boolean;
  readonly stderr: boolean;
  readonly tty: boolean;
}

type Parsed<T> = { readonly value: T } | { readonly error: string };

export function parseExecStreams(query: URLSearchParams): Parsed<ExecStreams> {
  const isOn = (name: string): boolean => query.get(name) === '1';
  const tty = isOn('tty');
  const stdin = isOn('input');
  const stdout = isOn('output');
  // A terminal has one output.
  const stderr = isOn('error') && !tty;
  if (!stdin && !stdout && !stderr) {
    return { error: 'you must specify at least 1 of stdin, stdout, stderr' };
  }
  return { value: { stdin, stdout, stderr, tty } };
}

/** With SPDY each stream names its port, so that the request has none; a WebSocket fixes them at the start. */
export function parsePorts(request: Pick<HttpRequest, 'headers' | 'query' | 'upgrade'>): Parsed<number[]> {
  if (!isWebSocket(request)) return { value: [] };
  const given = request.query.getAll('port');
  if (given.length === 0) return { error: 'query parameter "port" is required' };
  const ports: number[] = [];
  for (const text of given) {
    if (text === '') return { error: 'query parameter "port" cannot be empty' };
    for (const part of text.split(',')) {
      const why = portError(part);
      const quoted = JSON.stringify(text);
      if (why !== undefined) {
        const parsing = `strconv.ParseUint: parsing ${JSON.stringify(part)}: ${why}`;
        return { error: `unable to parse ${quoted} as a port: ${parsing}` };
      }
      if (Number(part) < 1) return { error: `port ${quoted} must be > 0` };
      ports.push(Number(part));
    }
  }
  return { value: ports };
}

function isWebSocket({ headers, upgrade }: Pick<HttpRequest, 'headers' | 'upgrade'>): boolean {
  return upgrade && String(headers['upgrade']).toLowerCase() === 'websocket';
}

/** Go's messages. */
function portError(text: string): string | undefined {
  if (!/^\d+$/.test(text)) return 'invalid syntax';
  return Number(text) > 65_535 ? 'value out of range' : undefined;
}
