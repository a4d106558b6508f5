// The messages of the WebSocket protocol v5.channel.k8s.io: a byte for the channel, then data. Pure.
// Upstream: k8s.io/streaming and the client of kubectl exec.

const stdin = 0;
const stdout = 1;
const stderr = 2;
const status = 3;
const resize = 4;
const close = 255;

export const channelProtocol = 'v5.channel.k8s.io';

export function stdinMessage(data: Uint8Array): Uint8Array<ArrayBuffer> {
  const message = new Uint8Array(data.length + 1);
  message[0] = stdin;
  message.set(data, 1);
  return message;
}

export function resizeMessage(columns: number, rows: number): Uint8Array<ArrayBuffer> {
  const json = new TextEncoder().encode(JSON.stringify({ Width: columns, Height: rows }));
  const message = new Uint8Array(json.length + 1);
  message[0] = resize;
  message.set(json, 1);
  return message;
}

export function closeStdinMessage(): Uint8Array<ArrayBuffer> {
  return new Uint8Array([close, stdin]);
}

export type ChannelMessage =
  | { readonly is: 'output'; readonly data: Uint8Array }
  | { readonly is: 'ended'; readonly exitCode: number | undefined; readonly why: string }
  | { readonly is: 'ignored' };

export function parseMessage(bytes: Uint8Array): ChannelMessage {
  const data = bytes.subarray(1);
  if (bytes[0] === stdout || bytes[0] === stderr) return { is: 'output', data };
  return bytes[0] === status ? parseStatus(new TextDecoder().decode(data)) : { is: 'ignored' };
}

/** A Status object: Success, or a Failure with the exit code among its causes. */
function parseStatus(text: string): ChannelMessage {
  try {
    const value = JSON.parse(text) as {
      readonly status?: unknown;
      readonly message?: unknown;
      readonly details?: {
        readonly causes?: readonly { readonly reason?: unknown; readonly message?: unknown }[];
      };
    } | null;
    if (value?.status === 'Success') return { is: 'ended', exitCode: 0, why: '' };
    const code = value?.details?.causes?.find(({ reason }) => reason === 'ExitCode')?.message;
    const exitCode = code === undefined ? undefined : Number(code);
    return { is: 'ended', exitCode, why: typeof value?.message === 'string' ? value.message : text };
  } catch {
    return { is: 'ended', exitCode: undefined, why: text };
  }
}

/** The subprotocol that carries the token: a browser's WebSocket cannot send headers. */
export function bearerProtocol(token: string): string {
  const bytes = new TextEncoder().encode(token);
  const base64 = btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''));
  return `base64url.bearer.authorization.k8s.io.${base64.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')}`;
}
