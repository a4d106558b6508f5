// The status that ends an exec or attach session: decoded from the runtime's error stream, encoded for the client. Pure.
// Upstream: errorDecoderV4 and V2 in client-go/tools/remotecommand, streamtranslator.go in apiserver/pkg/util/proxy.
import { isObject } from '../../base/guards.ts';

/** Go's ParseUint(message, 10, 8). */
const maxExitCode = 255;

/** The JSON of the status for what the runtime wrote to its error stream. `protocol` is the one that the runtime chose. */
export function statusFrom(message: Buffer, protocol: string): string {
  if (message.length === 0) return success;
  const text = message.toString();
  if (!/^v[45]\.channel\.k8s\.io$/.test(protocol)) {
    return internalError(`error executing remote command: ${text}`);
  }
  let status: unknown;
  try {
    status = JSON.parse(text);
  } catch (err) {
    const why = err instanceof Error ? err.message : String(err);
    return internalError(`error stream protocol error: ${why} in ${JSON.stringify(text)}`);
  }
  return isObject(status) ? fromStatus(status) : internalError('error stream protocol error: unknown error');
}

function fromStatus(status: Readonly<Record<string, unknown>>): string {
  if (status['status'] === 'Success') return success;
  if (status['status'] !== 'Failure') return internalError('error stream protocol error: unknown error');
  if (status['reason'] !== 'NonZeroExitCode') return internalError(textOf(status['message']));
  const { details } = status;
  if (!isObject(details)) return internalError('error stream protocol error: details must be set');
  const causes: readonly unknown[] = Array.isArray(details['causes']) ? details['causes'] : [];
  const cause = causes.find((each) => isObject(each) && each['reason'] === 'ExitCode');
  if (!isObject(cause)) return internalError('error stream protocol error: no ExitCode cause given');
  const code = textOf(cause['message']);
  if (!/^\d{1,3}$/.test(code) || Number(code) > maxExitCode) {
    return internalError(`error stream protocol error: invalid exit code value ${JSON.stringify(code)}`);
  }
  return exited(Number(code));
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

const success = goJson({ metadata: {}, status: 'Success' });

function exited(code: number): string {
  return goJson({
    metadata: {},
    status: 'Failure',
    message: `command terminated with non-zero exit code: command terminated with exit code ${code}`,
    reason: 'NonZeroExitCode',
    details: { causes: [{ reason: 'ExitCode', message: String(code) }] },
  });
}

export function internalError(message: string): string {
  return goJson({
    metadata: {},
    status: 'Failure',
    message: `Internal error occurred: ${message}`,
    reason: 'InternalError',
    details: { causes: [{ message }] },
    code: 500,
  });
}

/** Go's encoder escapes these characters. */
function goJson(value: unknown): string {
  return JSON.stringify(value).replace(/[<>&]/g, (char) => `\\u00${char.charCodeAt(0).toString(16)}`);
}
