// Parses a JavaScript regular expression as far as regex-attacks.ts needs it. Does not support the flag `v`.
// Invariant: each part keeps its source, so that a sample can be verified by the engine itself.

export type Term =
  /** Matches one character: a literal, a class, a dot. */
  | { readonly is: 'atom'; readonly source: string }
  /** Matches no character: an anchor, a look-around, a boundary. A back reference counts as one, too. */
  | { readonly is: 'mark'; readonly source: string; readonly inner: readonly Sequence[] }
  | { readonly is: 'group'; readonly alternatives: readonly Sequence[] }
  | { readonly is: 'repeat'; readonly term: Term; readonly min: number; readonly max: number };

export type Sequence = readonly Term[];

export function parseRegex(source: string): readonly Sequence[] {
  const parser = new Parser(source);
  const alternatives = parser.alternatives();
  if (!parser.atEnd) throw new Error(`cannot parse /${source}/`);
  return alternatives;
}

const escape =
  /\\(?:u\{[^}]*\}|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|c[A-Za-z]|[pP]\{[^}]*\}|k<[^>]*>|[1-9]\d*|[^])/uy;
const characterClass = /\[(?:\\[^]|[^\]\\])*\]/uy;
const count = /\*|\+|\?|\{(\d+)(,?)(\d*)\}/uy;
const groupOpening = /\((?:\?(?::|=|!|<=|<!|<[^>]*>))?/uy;

class Parser {
  readonly #source: string;
  #at = 0;

  constructor(source: string) {
    this.#source = source;
  }

  get atEnd(): boolean {
    return this.#at >= this.#source.length;
  }

  alternatives(): readonly Sequence[] {
    const all: Term[][] = [[]];
    while (!this.atEnd && this.#source[this.#at] !== ')') {
      if (this.#source[this.#at] === '|') {
        this.#at += 1;
        all.push([]);
      } else {
        all.at(-1)?.push(this.#counted(this.#term()));
      }
    }
    return all;
  }

  #term(): Term {
    const opening = this.#take(groupOpening)?.[0];
    if (opening !== undefined) {
      const alternatives = this.alternatives();
      this.#at += 1;
      if (/[=!]$/.test(opening)) return { is: 'mark', source: opening, inner: alternatives };
      return { is: 'group', alternatives };
    }
    const escaped = this.#take(escape)?.[0];
    if (escaped !== undefined) {
      if (/^\\(?:[bBk]|[1-9])/.test(escaped)) return { is: 'mark', source: escaped, inner: [] };
      return { is: 'atom', source: escaped };
    }
    const source =
      this.#take(characterClass)?.[0] ?? String.fromCodePoint(this.#source.codePointAt(this.#at) ?? 0);
    if (!source.startsWith('[')) this.#at += source.length;
    if (source === '^' || source === '$') return { is: 'mark', source, inner: [] };
    return { is: 'atom', source };
  }

  #counted(term: Term): Term {
    const found = this.#take(count);
    if (found === undefined) return term;
    if (this.#source[this.#at] === '?') this.#at += 1;
    const [whole, low, comma, high] = found;
    const min = low === undefined ? Number(whole === '+') : Number(low);
    if (low === undefined)
      return { is: 'repeat', term, min, max: whole === '?' ? 1 : Number.POSITIVE_INFINITY };
    if (comma === '') return { is: 'repeat', term, min, max: min };
    return { is: 'repeat', term, min, max: high === '' ? Number.POSITIVE_INFINITY : Number(high) };
  }

  #take(pattern: RegExp): RegExpExecArray | undefined {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#source) ?? undefined;
    if (found !== undefined) this.#at = pattern.lastIndex;
    return found;
  }
}
