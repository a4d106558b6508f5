// The findings as text or JSON. Pure. Invariant: what is printed has no control characters and a bounded length, since runtimes,
// servers, files and names of processes have a part in it.
import type { FindingStatus } from './finding.ts';
import type { CheckResult } from './run-checks.ts';

const longestText = 600;
const words: Readonly<Record<FindingStatus, string>> = { ok: 'ok  ', warn: 'warn', fail: 'FAIL' };

/** One line per check, and one more for each fix. */
export function textReport(results: readonly CheckResult[]): string {
  const lines = results.flatMap(({ finding, fix, name, status }) => [
    `${words[status]} ${name}: ${shown(finding)}`,
    ...(fix === undefined ? [] : [`  fix: ${shown(fix)}`]),
  ]);
  const { fail, ok, warn } = countsOf(results);
  return `${lines.join('\n')}\n\n${results.length} checks: ${ok} ok, ${warn} warnings, ${fail} failed\n`;
}

export function jsonReport(results: readonly CheckResult[]): string {
  const checks = results.map(({ finding, fix, name, status }) => ({
    name,
    status,
    finding: shown(finding),
    ...(fix === undefined ? {} : { fix: shown(fix) }),
  }));
  return `${JSON.stringify({ checks, summary: countsOf(results) }, null, 2)}\n`;
}

export function countsOf(results: readonly CheckResult[]): Readonly<Record<FindingStatus, number>> {
  const count = (wanted: FindingStatus): number => results.filter(({ status }) => status === wanted).length;
  return { ok: count('ok'), warn: count('warn'), fail: count('fail') };
}

/** Bounded, on one line, with control and bidirectional characters visible. */
export function shown(text: string): string {
  const bounded = text.length > longestText ? `${text.slice(0, longestText)}…` : text;
  return Array.from(bounded, (character) =>
    isHidden(character.codePointAt(0) ?? 0) ? escaped(character) : character,
  ).join('');
}

function isHidden(code: number): boolean {
  return (
    code < 0x20 ||
    (code >= 0x7f && code <= 0x9f) ||
    (code >= 0x200b && code <= 0x200f) ||
    (code >= 0x2028 && code <= 0x202e) ||
    (code >= 0x2066 && code <= 0x2069) ||
    (code >= 0xd800 && code <= 0xdfff) ||
    code === 0xfeff
  );
}

function escaped(character: string): string {
  return `\\u${(character.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`;
}
