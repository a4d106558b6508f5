// Variables of the fake shell and the expansion of its words.
// Invariant: only what stands outside of quotes is split into fields; an empty unquoted word is no word.
import type { Word } from './shell-parse.ts';

export class Variables {
  readonly values: Map<string, string>;
  /** Of the last command: $? */
  status = 0;
  readonly #pid: number;

  constructor(values: ReadonlyMap<string, string>, pid: number) {
    this.values = new Map(values);
    this.#pid = pid;
  }

  expand(word: Word): readonly string[] {
    let text = '';
    let keeps = false;
    const fields: string[] = [];
    for (const part of word) {
      const value = part.expand ? this.#substitute(part.text) : part.text;
      keeps ||= part.quoted;
      const pieces = part.quoted || value === part.text ? [value] : value.split(/\s+/);
      for (const [index, piece] of pieces.entries()) {
        if (index > 0) {
          fields.push(text);
          text = '';
        }
        text += piece;
      }
    }
    if (text !== '' || keeps) fields.push(text);
    return fields;
  }

  #substitute(text: string): string {
    return text
      .replace(/\$\(\(([^)]*)\)\)/g, (_all, sum: string) => String(this.#sum(sum)))
      .replace(/\$\$/g, String(this.#pid))
      .replace(/\$\?/g, String(this.status))
      .replace(
        /\$(?:\{(\w+)\}|(\w+))/g,
        (_all, braced?: string, plain?: string) => this.values.get(braced ?? plain ?? '') ?? '',
      );
  }

  /** Sums and differences of numbers and variables. */
  #sum(text: string): number {
    const terms = text.replace(/\s+/g, '').match(/[+-]?[^+-]+/g) ?? [];
    return terms.reduce((sum, term) => {
      const name = term.replace(/^[+-]/, '').replace(/^\$/, '');
      const value = /^\d+$/.test(name) ? Number(name) : Number(this.values.get(name) ?? 0);
      return term.startsWith('-') ? sum - value : sum + value;
    }, 0);
  }
}
