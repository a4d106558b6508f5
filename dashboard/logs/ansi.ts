// Parses a line of a log for display: colours, bold and underline of ANSI become classes, other escape sequences are removed, and
// every other character that a reader would not see is made visible. Pure.
// Invariants: linear time; nothing of the line is hidden besides complete escape sequences; HTML is text like any other.
import { isHidden } from '../text/visible.ts';

interface TextSpan {
  readonly text: string;
  /** Class names, separated by blanks; empty for plain text. */
  readonly classes: string;
}

const escape = 0x1b;
/** A longer sequence is shown as text. */
const maxSequenceLength = 256;

interface Style {
  bold: boolean;
  underline: boolean;
  inverse: boolean;
  /** 0 to 15; -1: the default. */
  foreground: number;
  background: number;
}

const plainStyle: Style = { bold: false, underline: false, inverse: false, foreground: -1, background: -1 };

export function parseAnsi(line: string): readonly TextSpan[] {
  const spans: TextSpan[] = [];
  const style = { ...plainStyle };
  let text = '';
  let from = 0;
  const flush = (): void => {
    if (text !== '') spans.push({ text, classes: classesOf(style) });
    text = '';
  };
  for (let at = 0; at < line.length; at++) {
    const code = line.charCodeAt(at);
    if (!isHiddenInLine(code)) continue;
    text += line.slice(from, at);
    const end = code === escape ? sequenceEnd(line, at) : -1;
    if (end > 0) {
      if (line.charAt(at + 1) === '[' && line.charAt(end - 1) === 'm') {
        flush();
        applySgr(style, line.slice(at + 2, end - 1));
      }
      at = end - 1;
    } else if (code !== 13 || at < line.length - 1) text += symbolOf(code);
    from = at + 1;
  }
  text += line.slice(from);
  flush();
  return spans;
}

/** The characters that parseAnsi shows, which is what a search searches. */
export function shownText(line: string): string {
  for (let at = 0; at < line.length; at++) {
    if (isHiddenInLine(line.charCodeAt(at))) return joined(parseAnsi(line));
  }
  return line;
}

function joined(spans: readonly TextSpan[]): string {
  return spans.map(({ text }) => text).join('');
}

/** Where the escape sequence at this offset ends; -1 if it is not complete. */
function sequenceEnd(line: string, at: number): number {
  const kind = line.charAt(at + 1);
  const limit = Math.min(line.length, at + maxSequenceLength);
  if (kind === '[') {
    for (let next = at + 2; next < limit; next++) {
      const code = line.charCodeAt(next);
      if (code >= 0x40 && code <= 0x7e) return next + 1;
      if (code < 0x20 || code > 0x3f) return -1;
    }
    return -1;
  }
  // Operating system commands and other strings, up to BEL or ESC \.
  if (kind === ']' || kind === 'P' || kind === '_' || kind === '^' || kind === 'X') {
    for (let next = at + 2; next < limit; next++) {
      const code = line.charCodeAt(next);
      if (code === 7) return next + 1;
      if (code === escape) return line.charAt(next + 1) === '\\' ? next + 2 : -1;
    }
    return -1;
  }
  if (kind === '(' || kind === ')') return at + 3 <= line.length ? at + 3 : -1;
  return /^[0-9=>A-Zc-z]$/.test(kind) ? at + 2 : -1;
}

function applySgr(style: Style, parameters: string): void {
  const codes = parameters.split(/[;:]/).map((part) => (part === '' ? 0 : Number(part)));
  for (let at = 0; at < codes.length; at++) {
    const code = codes[at] ?? 0;
    if (code === 38 || code === 48) {
      // 256 colours and RGB: the first 16 of the 256 are known here, the others are dropped with their parameters.
      const index = codes[at + 1] === 5 ? (codes[at + 2] ?? -1) : -1;
      const colour = index >= 0 && index < 16 ? index : -1;
      if (code === 38) style.foreground = colour;
      else style.background = colour;
      at += codes[at + 1] === 5 ? 2 : 4;
    } else applyCode(style, code);
  }
}

function applyCode(style: Style, code: number): void {
  if (code === 0) Object.assign(style, plainStyle);
  else if (code === 1) style.bold = true;
  else if (code === 22) style.bold = false;
  else if (code === 4 || code === 24) style.underline = code === 4;
  else if (code === 7 || code === 27) style.inverse = code === 7;
  else if (code >= 30 && code <= 37) style.foreground = code - 30;
  else if (code >= 90 && code <= 97) style.foreground = code - 82;
  else if (code >= 40 && code <= 47) style.background = code - 40;
  else if (code >= 100 && code <= 107) style.background = code - 92;
  else if (code === 39) style.foreground = -1;
  else if (code === 49) style.background = -1;
}

function classesOf({ background, bold, foreground, inverse, underline }: Style): string {
  const names: string[] = [];
  if (bold) names.push('ansi-bold');
  if (underline) names.push('ansi-underline');
  if (inverse) names.push('ansi-inverse');
  if (foreground >= 0) names.push(`ansi-fg-${foreground}`);
  if (background >= 0) names.push(`ansi-bg-${background}`);
  return names.join(' ');
}

/** A tab and a space that does not break are part of a line. */
function isHiddenInLine(code: number): boolean {
  return code !== 0x09 && code !== 0xa0 && isHidden(code);
}

function symbolOf(code: number): string {
  if (code < 0x20) return String.fromCharCode(0x2400 + code);
  if (code === 0x7f) return '\u2421';
  return `\\u${code.toString(16).padStart(4, '0')}`;
}
