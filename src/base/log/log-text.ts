// The text log format: `I1115 21:29:46.123000   12345 pleg] "Message" key="value"`. Upstream: k8s.io/klog/v2.
// differs from upstream: the component's name takes the place of klog's file:line; finding the line costs more than the entry.
import type { Logger, LogWriterOptions } from './log.ts';
import { boundText, goQuote, safeJson, scalarText } from './log-value.ts';
import { type LogEntry, makeLogger } from './log-writer.ts';

const severityLetters = { info: 'I', warning: 'W', error: 'E' } as const;

export function textLogger(options: LogWriterOptions): Logger {
  const pid = String(options.pid).padStart(7);
  // Formatting the date is the expensive part of a header, and most entries share their second with the previous one.
  let second = Number.NaN;
  let calendar = '';
  return makeLogger(options, (entry) => {
    const entrySecond = Math.floor(entry.timeMs / 1000);
    if (entrySecond !== second) {
      second = entrySecond;
      calendar = formatCalendar(new Date(entry.timeMs));
    }
    const micros = Math.floor((entry.timeMs - entrySecond * 1000) * 1000);
    const time = `${calendar}.${String(micros).padStart(6, '0')}`;
    const header = `${severityLetters[entry.severity]}${time} ${pid} ${entry.component ?? 'kubelet'}] `;
    return `${header}${goQuote(boundText(entry.message))}${formatFields(entry)}\n`;
  });
}

function formatCalendar(date: Date): string {
  return (
    `${two(date.getMonth() + 1)}${two(date.getDate())} ` +
    `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`
  );
}

function two(value: number): string {
  return String(value).padStart(2, '0');
}

/** The fields of an error entry begin with the error. */
function formatFields(entry: LogEntry): string {
  let text = '';
  for (const [key, value] of entry.fields) {
    const field = ` ${key}=${formatValue(value)}`;
    text = key === 'err' && entry.severity === 'error' ? field + text : text + field;
  }
  return text;
}

function formatValue(value: unknown): string {
  if (value === null) return '<nil>';
  const text = scalarText(value);
  if (text !== undefined) return formatString(boundText(text));
  return typeof value === 'number' ? String(value) : safeJson(value);
}

/** Multi-line text keeps its lines, each indented by a tab, so that none can pass for a log entry. */
function formatString(text: string): string {
  if (!text.includes('\n')) return goQuote(text);
  const lines = text.endsWith('\n') ? text.slice(0, -1) : text;
  return `<\n\t${lines.replaceAll('\n', '\n\t')}\n >`;
}
