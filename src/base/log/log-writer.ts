// Shared by the log formats: levels and bound fields. Invariant: logging never throws.
import { disabledVerboseLogger, type LogFields, type Logger, type LogWriterOptions } from './log.ts';

export interface LogEntry {
  readonly severity: 'info' | 'warning' | 'error';
  readonly level: number;
  readonly timeMs: number;
  /** From with({ component }). */
  readonly component: string | undefined;
  readonly message: string;
  /** In order, without undefined values; of equal keys the later one. */
  readonly fields: readonly (readonly [key: string, value: unknown])[];
}

/** Returns the entry with its line end. If it throws, the entry is written without its fields. */
type LogFormat = (entry: LogEntry) => string;

export function makeLogger(options: LogWriterOptions, format: LogFormat): Logger {
  return bindLogger(options, format, undefined, {});
}

function bindLogger(
  options: LogWriterOptions,
  format: LogFormat,
  component: string | undefined,
  bound: LogFields,
): Logger {
  const emit = (severity: LogEntry['severity'], level: number, message: string, given?: LogFields): void => {
    try {
      const timeMs = options.clock.now();
      const fields = mergeFields(bound, given);
      options.write(formatEntry(format, { severity, level, timeMs, component, message, fields }));
    } catch {
      // A failing log (a closed pipe, a full disk) must not crash the kubelet, and there is no other place to report it.
    }
  };
  return {
    info: (message, fields) => emit('info', 0, message, fields),
    warn: (message, fields) => emit('warning', 0, message, fields),
    error: (message, fields) => emit('error', 0, message, fields),
    v: (level) => {
      if (level > options.verbosity.level) return disabledVerboseLogger;
      return { enabled: true, info: (message, fields) => emit('info', level, message, fields) };
    },
    with: (fields) => {
      const merged = Object.fromEntries(mergeFields(bound, fields));
      const { component: named, ...others } = merged;
      return bindLogger(options, format, typeof named === 'string' ? named : component, others);
    },
  };
}

function formatEntry(format: LogFormat, entry: LogEntry): string {
  try {
    return format(entry);
  } catch {
    return format({ ...entry, fields: [] });
  }
}

function mergeFields(bound: LogFields, given: LogFields | undefined): LogEntry['fields'] {
  const fields: [string, unknown][] = [];
  for (const key of Object.keys(bound))
    if (given === undefined || !(key in given)) pushField(fields, bound, key);
  if (given !== undefined) for (const key of Object.keys(given)) pushField(fields, given, key);
  return fields;
}

/** Reads every field once, so that a getter that throws loses only that field. */
function pushField(fields: [string, unknown][], from: LogFields, key: string): void {
  let value: unknown;
  try {
    value = from[key];
  } catch {
    value = '<panic: unreadable field>';
  }
  if (value !== undefined) fields.push([key, value]);
}
