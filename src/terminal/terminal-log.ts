// The output of a container on a terminal: colours pass, everything else that controls a terminal is shown as codes. Pure.
// Invariants: the work is linear in the bytes; what is held between chunks has a bound.
import { visibleCode } from './safe-text.ts';

const escape = '\u001b';
/** The parameters of a colour sequence. */
const maxParameters = 40;
/** A control character with colour parameters behind it, or one unsafe character other than line breaks and tabs. */
const special = /\p{Cc}\[[\d;:]{0,40}m|(?![\n\t])[\p{Cc}\p{Zl}\p{Zp}\p{Cs}\p{Co}]|(?![\u200c\u200d])\p{Cf}/gu;
/** Behind the escape character. */
const unfinished = /^(?:\[[\d;:]{0,40})?$/;
const reset = `${escape}[0m`;

/** Without blinking (5, 6), which is a nuisance, and concealed text (8), which hides. */
const allowed: ReadonlySet<number> = new Set(
  [
    [0, 1, 2, 3, 4, 7, 9, 21, 22, 23, 24, 25, 27, 28, 29, 39, 49],
    [30, 31, 32, 33, 34, 35, 36, 37, 40, 41, 42, 43, 44, 45, 46, 47],
    [90, 91, 92, 93, 94, 95, 96, 97, 100, 101, 102, 103, 104, 105, 106, 107],
  ].flat(),
);

export class TerminalLog {
  readonly #decoder = new TextDecoder();
  /** The beginning of an escape sequence. */
  #held = '';
  #isColoured = false;

  push(chunk: Uint8Array): string {
    const text = this.#held + this.#decoder.decode(chunk, { stream: true });
    const last = text.lastIndexOf(escape);
    const isHeld =
      last >= 0 && text.length - last <= maxParameters + 2 && unfinished.test(text.slice(last + 1));
    this.#held = isHeld ? text.slice(last) : '';
    return this.#show(isHeld ? text.slice(0, last) : text);
  }

  /** The rest, and the end of the colours. */
  end(): string {
    const rest = this.#show(this.#held + this.#decoder.decode());
    this.#held = '';
    return this.#isColoured ? rest + reset : rest;
  }

  #show(text: string): string {
    return text.replace(special, (found) => {
      const sequence = found.indexOf('[');
      if (sequence !== 1) return visibleCode(found);
      const control = found.slice(0, sequence);
      if (control === '\n' || control === '\t') return found;
      if (control !== escape || !isColour(found)) return visibleCode(control) + found.slice(sequence);
      this.#isColoured = true;
      return found;
    });
  }
}

function isColour(sequence: string): boolean {
  const parameters = sequence.slice(2, -1).split(/[;:]/).map(Number);
  for (let at = 0; at < parameters.length; at++) {
    const parameter = parameters[at] ?? 0;
    // 38;5;N and 38;2;R;G;B: a colour of the palette, or any.
    if (parameter === 38 || parameter === 48) at += parameters[at + 1] === 5 ? 2 : 4;
    else if (!allowed.has(parameter)) return false;
  }
  return true;
}
