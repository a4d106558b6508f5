// The JSON log format, one object per line. Upstream: k8s.io/component-base/logs/json: `ts` in milliseconds,
// `logger`, `msg`, `v` (not for errors), then the fields, with the error under `err`.
// differs from upstream: there is no `caller`, as in the text format.
import type { Logger, LogWriterOptions } from './log.ts';
import { boundText, safeJson } from './log-value.ts';
import { makeLogger } from './log-writer.ts';

export function jsonLogger(options: LogWriterOptions): Logger {
  return makeLogger(options, (entry) => {
    let line = `{"ts":${entry.timeMs}`;
    if (entry.component !== undefined) line += `,"logger":${JSON.stringify(entry.component)}`;
    line += `,"msg":${JSON.stringify(boundText(entry.message))}`;
    // As upstream, a warning is an entry of level 0: the format has only entries with an error and entries with a level.
    if (entry.severity !== 'error') line += `,"v":${entry.level}`;
    for (const [key, value] of entry.fields) line += `,${JSON.stringify(key)}:${safeJson(value)}`;
    return `${line}}\n`;
  });
}
