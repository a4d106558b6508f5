// Masks the values of flags that may be credentials, for showing the command line. Pure.
import { masked, redactUrl } from '../../base/log/redact-url.ts';
import { type FlagEntry, flagByName } from './flag-index.ts';
import { removedFlags } from './removed-flags.ts';

/** A flag, or one that was removed and is still on the command line. */
type Named = Pick<FlagEntry, 'name'> & { readonly type?: FlagEntry['type'] };

/** Header values and passwords. */
export function isSecret(entry: Named): boolean {
  return entry.type === 'headers' || entry.name.endsWith('password');
}

/** Whether the value is a URL, parts of which may be credentials. */
export function isUrl(entry: Named): boolean {
  return entry.name.endsWith('url');
}

/** Handles `--flag=value` and `--flag value`; unknown arguments are kept. */
export function redactArguments(argv: readonly string[]): readonly string[] {
  let before: Named | undefined;
  return argv.map((word) => {
    const entry = before;
    before = undefined;
    if (entry !== undefined) return redactValue(entry, word);
    if (!word.startsWith('--')) return word;
    const equals = word.indexOf('=');
    const name = word.slice(2, equals < 0 ? undefined : equals).replaceAll('_', '-');
    const found: Named | undefined = flagByName.get(name) ?? removedFlags.get(name);
    if (found === undefined || !(isSecret(found) || isUrl(found))) return word;
    if (equals >= 0) return `${word.slice(0, equals + 1)}${redactValue(found, word.slice(equals + 1))}`;
    before = found;
    return word;
  });
}

function redactValue(entry: Named, value: string): string {
  return isSecret(entry) ? masked : redactUrl(value);
}
