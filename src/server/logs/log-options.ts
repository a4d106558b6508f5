// Parses and validates the options of a log request as upstream does. Upstream: getContainerLogs in
// pkg/kubelet/server/server.go, the decoding of v1.PodLogOptions and ValidatePodLogOptions in pkg/apis/core/v1/validation.
import { type Instant, instantOfMs, parseInstant } from './timestamp.ts';

export interface LogOptions {
  readonly follow: boolean;
  readonly previous: boolean;
  readonly timestamps: boolean;
  /** Omits earlier lines. */
  readonly since: Instant | undefined;
  readonly tailLines: number | undefined;
  readonly limitBytes: number | undefined;
  readonly stdout: boolean;
  readonly stderr: boolean;
}

interface LogRejection {
  readonly status: number;
  readonly message: string;
}

const streams: readonly (string | null)[] = ['All', 'Stdout', 'Stderr'];
const maxInt64 = 2n ** 63n - 1n;

/** The options or the rejection; a rejected stream is separate, since upstream checks it later. */
type ParsedLogOptions =
  | { readonly options: LogOptions; readonly rejectedStream?: LogRejection }
  | { readonly rejection: LogRejection };

export function parseLogOptions(
  query: URLSearchParams,
  { nowMs, splitStreams }: { readonly nowMs: number; readonly splitStreams: boolean },
): ParsedLogOptions {
  const tailLines = integer(tailOf(query));
  const limitBytes = integer(query.get('limitBytes'));
  const sinceSeconds = integer(query.get('sinceSeconds'));
  const sinceTime = time(query.get('sinceTime'));
  if ([tailLines, limitBytes, sinceSeconds, sinceTime].includes('invalid')) {
    return { rejection: { status: 400, message: '{"message": "Unable to decode query."}' } };
  }
  const stream = query.get('stream');
  const invalid =
    isBelow(tailLines, 0) ||
    isBelow(limitBytes, 1) ||
    isBelow(sinceSeconds, 1) ||
    (sinceSeconds !== undefined && sinceTime !== undefined) ||
    (stream !== null && !streams.includes(stream)) ||
    (stream !== null && stream !== 'All' && tailLines !== undefined);
  if (invalid) return { rejection: { status: 422, message: '{"message": "Invalid request."}' } };
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
  return { options, rejectedStream: { status: 400, message } };
}

/** `tail` is the name of tailLines in old clients; its "all" means no limit. */
function tailOf(query: URLSearchParams): string | null {
  const old = query.get('tail') ?? '';
  if (old === 'all') return null;
  return old === '' ? query.get('tailLines') : old;
}

function flag(text: string | null): boolean {
  return text !== null && text !== '0' && text.toLowerCase() !== 'false';
}

function isBelow(value: number | 'invalid' | undefined, minimum: number): boolean {
  return typeof value === 'number' && value < minimum;
}

/** As strconv.ParseInt, within 64 bits. */
function integer(text: string | null): number | 'invalid' | undefined {
  if (text === null) return undefined;
  if (!/^[+-]?\d+$/.test(text)) return 'invalid';
  const value = BigInt(text.replace('+', ''));
  return value > maxInt64 || value < -maxInt64 - 1n ? 'invalid' : Number(value);
}

/** An empty text, or the null of old clients, counts as given but selects everything. */
function time(text: string | null): Instant | 'any' | 'invalid' | undefined {
  if (text === null) return undefined;
  if (text === '' || text === 'null') return 'any';
  return parseInstant(text) ?? 'invalid';
}
