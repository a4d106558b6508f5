// Makes text that a pod controls safe for a terminal. Pure.
// Invariant: the result has no character that moves the cursor, changes the terminal or the direction of writing, or is invisible:
// such characters are shown as codes. The work is linear in the text.

/** Controls, format characters (bidi overrides, zero width, tags), line and paragraph separators, lone surrogates, private use. */
const unsafe = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Co}]/gu;

const named: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

/** On one line: line breaks are shown as \n. */
export function safeText(text: string): string {
  return text.replace(unsafe, visibleCode);
}

/**
 * JSON whose every text is safe from the start, so that no reader of it can forget one. Keys are as they are: do not print them.
 * Tabs become blanks.
 */
export function parseSafeJson(text: string): unknown {
  return JSON.parse(text, (_, value: unknown) =>
    typeof value === 'string' ? safeText(value.replaceAll('\t', '    ')) : value,
  );
}

/** JSON with two blanks of indentation. Unsafe characters within its strings are escaped, which parsers undo. */
export function safeJson(value: unknown): string {
  const json = JSON.stringify(value, undefined, 2);
  return `${json.replace(unsafe, (character) => (character === '\n' ? character : jsonEscape(character)))}\n`;
}

export function visibleCode(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  if (code <= 0xff) return named[character] ?? `\\x${hex(code, 2)}`;
  return code <= 0xffff ? `\\u${hex(code, 4)}` : `\\u{${hex(code, 1)}}`;
}

function jsonEscape(character: string): string {
  return Array.from({ length: character.length }, (_, at) => `\\u${hex(character.charCodeAt(at), 4)}`).join(
    '',
  );
}

function hex(code: number, digits: number): string {
  return code.toString(16).padStart(digits, '0');
}
