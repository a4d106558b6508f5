// What a request for logs asks for, checked as upstream's kubelet checks it. Upstream: getContainerLogs in
// pkg/kubelet/server/server.go, the decoding of v1.PodLogOptions and ValidatePodLogOptions in pkg/apis/core/v1/validation.
import { type Instant, instantOfMs, parseInstant } from './timestamp.ts';

export interface LogOptions {
  readonly follow: boolean;
  readonly previous: boolean;
  readonly timestamps: boolean;
  /** Nothing that was written before. */
  readonly since: Instant | undefined;
  readonly tailLines: number | undefined;
  readonly limitBytes: number | undefined;
  readonly stdout: boolean;
  readonly stderr: boolean;
}

interface LogRefusal {
  readonly status: number;
  readonly message: string;
}

const streams: readonly (string | null)[] = ['All', 'Stdout', 'Stderr'];
const maxInt64 = 2n ** 63n - 1n;

/** Either what is asked for or why it cannot be; a refused stream is told apart, since it is noticed later than the rest. */
type ParsedLogOptions =
  | { readonly options: LogOptions; readonly refusedStream?: LogRefusal }
  | { readonly refusal: LogRefusal };

export function parseLogOptions(
  query: URLSearchParams,
  { nowMs, splitStreams }: { readonly nowMs: number; readonly splitStreams: boolean },
): ParsedLogOptions {
  const tailLines = integer(tailOf(query));
  const limitBytes = integer(query.get('limitBytes'));
  const sinceSeconds = integer(query.get('sinceSeconds'));
  const sinceTime = time(query.get('sinceTime'));
  if ([tailLines, limitBytes, sinceSeconds, sinceTime].includes('invalid')) {
    return { refusal: { status: 400, message: '{"message": "Unable to decode query."}' } };
  }
  const stream = query.get('stream');
  const invalid =
    isBelow(tailLines, 0) ||
    isBelow(limitBytes, 1) ||
    isBelow(sinceSeconds, 1) ||
    (sinceSeconds !== undefined && sinceTime !== undefined) ||
    (stream !== null && !streams.includes(stream)) ||
    (stream !== null && stream !== 'All' && tailLines !== undefined);
  if (invalid) return { refusal: { status: 422, message: '{"message": "Invalid request."}' } };
  const options: LogOptions = {
    follow: flag(query.get('follow')),
    previous: flag(query.get('previous')),
    timestamps: flag(query.get('timestamps')),
    since:
      typeof sinceSeconds === 'number'
        ? instantOfMs(nowMs - sinceSeconds * 1_000)
        : typeof sinceTime === 'object'
          ? sinceTime
          : undefined,
    tailLines: tailLines as number | undefined,
    limitBytes: limitBytes as number | undefined,
    stdout: stream !== 'Stderr',
    stderr: stream !== 'Stdout',
  };
  if (splitStreams || stream === null || stream === 'All') return { options };
  const message = `unable to return the given log stream: ${JSON.stringify(stream)}. Please enable PodLogsQuerySplitStreams feature gate in kubelet`;
  return { options, refusedStream: { status: 400, message } };
}

/** `tail` is how old clients said tailLines; its "all" is to leave it out. */
function tailOf(query: URLSearchParams): string | null {
  const old = query.get('tail') ?? '';
  if (old === 'all') return null;
  return old === '' ? query.get('tailLines') : old;
}

function flag(text: string | null): boolean {
  return text !== null && text !== '0' && text.toLowerCase() !== 'false';
}

function isBelow(value: number | 'invalid' | undefined, least: number): boolean {
  return typeof value === 'number' && value < least;
}

/** As strconv.ParseInt takes it, within 64 bits. */
function integer(text: string | null): number | 'invalid' | undefined {
  if (text === null) return undefined;
  if (!/^[+-]?\d+$/.test(text)) return 'invalid';
  const value = BigInt(text.replace('+', ''));
  return value > maxInt64 || value < -maxInt64 - 1n ? 'invalid' : Number(value);
}

/** An empty one, or the null of old clients, is given but lets everything through. */
function time(text: string | null): Instant | 'any' | 'invalid' | undefined {
  if (text === null) return undefined;
  if (text === '' || text === 'null') return 'any';
  return parseInstant(text) ?? 'invalid';
}
