// Masks the values of flags that may be credentials, for showing the command line. Pure.
import { masked, redactUrl } from '../../base/log/redact-url.ts';
import { type FlagEntry, flagByName } from './flag-index.ts';

/** Header values and passwords. */
export function isSecret(entry: FlagEntry): boolean {
  return entry.type === 'headers' || entry.name.endsWith('password');
}

/** Whether the value is a URL, parts of which may be credentials. */
export function isUrl(entry: FlagEntry): boolean {
  return entry.name.endsWith('url');
}

/** Handles `--flag=value` and `--flag value`; unknown arguments are kept. */
export function redactArguments(argv: readonly string[]): readonly string[] {
  let before: FlagEntry | undefined;
  return argv.map((word) => {
    const entry = before;
    before = undefined;
    if (entry !== undefined) return redactValue(entry, word);
    if (!word.startsWith('--')) return word;
    const equals = word.indexOf('=');
    const name = word.slice(2, equals < 0 ? undefined : equals).replaceAll('_', '-');
    const found = flagByName.get(name);
    if (found === undefined || !(isSecret(found) || isUrl(found))) return word;
    if (equals >= 0) return `${word.slice(0, equals + 1)}${redactValue(found, word.slice(equals + 1))}`;
    before = found;
    return word;
  });
}

function redactValue(entry: FlagEntry, value: string): string {
  return isSecret(entry) ? masked : redactUrl(value);
}
