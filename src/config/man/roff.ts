// Text and macros of man(7). Pure. Invariant: text is escaped line by line, so that no text becomes a request.
import { wrap } from '../command-line/wrap.ts';

/** mandoc and groff accept longer lines; this keeps the source readable. */
const width = 78;

const escapes: Readonly<Record<string, string>> = {
  '\\': '\\e',
  // A plain - is a hyphen, which differs from the minus sign that a shell expects.
  '-': '\\-',
  '^': '\\(ha',
  '~': '\\(ti',
  '`': '\\(ga',
  '"': '\\(dq',
};

/** Escaped for the middle of a line. Line breaks become blanks. */
export function inline(text: string): string {
  let escaped = '';
  for (const character of text.replaceAll(/\s+/g, ' ')) {
    const code = character.codePointAt(0) ?? 0;
    if (code < 0x20 || code === 0x7f) continue;
    escaped +=
      escapes[character] ??
      (code < 0x80 ? character : `\\[u${code.toString(16).toUpperCase().padStart(4, '0')}]`);
  }
  return escaped;
}

/** A paragraph's lines. */
export function prose(text: string): string {
  return wrap(text.trim(), width)
    .map((line) => `${line.startsWith('.') || line.startsWith("'") ? '\\&' : ''}${inline(line)}\n`)
    .join('');
}

export function section(title: string, body: string): string {
  return `.SH ${inline(title)}\n${body}`;
}

export function paragraphs(texts: readonly string[]): string {
  return texts.map(prose).join('.PP\n');
}

/** A term with its explanation; `term` is already escaped. */
export function tagged(term: string, ...texts: readonly string[]): string {
  const [first = '', ...more] = texts.filter((text) => text !== '');
  return `.TP\n${term}\n${prose(first)}${more.map((text) => `.br\n${prose(text)}`).join('')}`;
}

export function bold(text: string): string {
  return `\\fB${inline(text)}\\fR`;
}

export function italic(text: string): string {
  return `\\fI${inline(text)}\\fR`;
}
