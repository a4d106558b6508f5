// Parses and validates the options of stream requests. Pure.
// Upstream: cri-streaming/pkg/streaming/remotecommand (NewOptions) and portforward (NewV4Options), wsstream in k8s.io/streaming.
import type { HttpRequest, RemoteCommandStreams } from '../../api/ports/http.ts';

type Parsed<T> = { readonly value: T } | { readonly error: string };

export function parseExecStreams(query: URLSearchParams): Parsed<RemoteCommandStreams> {
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

type Upgrade = Pick<HttpRequest, 'headers' | 'upgrade'>;

/** Whether the client offers the WebSocket protocol of exec and attach that closes single channels. */
export function offersChannels(request: Upgrade): boolean {
  return offered(request).includes('v5.channel.k8s.io');
}

/** Whether the client offers to tunnel SPDY through a WebSocket. */
export function offersTunnel(request: Upgrade): boolean {
  return offered(request).some((each) => each.startsWith('SPDY/3.1+') && each.endsWith('.k8s.io'));
}

function offered(request: Upgrade): readonly string[] {
  if (!isWebSocket(request)) return [];
  return String(request.headers['sec-websocket-protocol'] ?? '')
    .split(',')
    .map((each) => each.trim());
}

function isWebSocket({ headers, upgrade }: Upgrade): boolean {
  return upgrade && String(headers['upgrade']).toLowerCase() === 'websocket';
}

/** Go's messages. */
function portError(text: string): string | undefined {
  if (!/^\d+$/.test(text)) return 'invalid syntax';
  return Number(text) > 65_535 ? 'value out of range' : undefined;
}
