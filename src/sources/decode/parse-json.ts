// Parses JSON strictly, with the position of every value and exact integers. A file may contain several values.
// Invariant: every failure is a ManifestSyntaxError with a position; nesting is bounded.
// Upstream: sigs.k8s.io/json.
import { narrow } from './go-scalar.ts';
import { type ManifestNode, ManifestSyntaxError, type Places, type ScalarValue } from './manifest-node.ts';

const deepest = 500;

/** Whether to parse the text as JSON: as upstream, if it begins with a brace. */
export function looksLikeJson(text: string): boolean {
  return /^\s*\{/.test(text);
}

export function parseJson(text: string, places: Places): ManifestNode[] {
  return new Parser(text, places).documents();
}

class Parser {
  readonly #text: string;
  readonly #places: Places;
  #at = 0;

  constructor(text: string, places: Places) {
    this.#text = text;
    this.#places = places;
  }

  documents(): ManifestNode[] {
    const found: ManifestNode[] = [];
    for (this.#skipBlank(); this.#at < this.#text.length; this.#skipBlank()) found.push(this.#value(0));
    return found;
  }

  #value(depth: number): ManifestNode {
    if (depth > deepest) throw this.#error('nested too deeply');
    this.#skipBlank();
    const offset = this.#at;
    const first = this.#text[offset];
    if (first === '{') return { kind: 'map', entries: this.#map(depth), offset };
    if (first === '[') return { kind: 'list', items: this.#list(depth), offset };
    if (first === '"') return { kind: 'scalar', value: this.#string(), offset };
    return { kind: 'scalar', value: this.#word(), offset };
  }

  #map(depth: number): Map<string, ManifestNode> {
    const entries = new Map<string, ManifestNode>();
    this.#at += 1;
    if (this.#takes('}')) return entries;
    do {
      this.#skipBlank();
      const offset = this.#at;
      if (this.#text[offset] !== '"') throw this.#error('expected a key in double quotes');
      const key = this.#string();
      // differs from upstream: duplicate keys are an error; the last one wins silently there.
      if (entries.has(key)) throw this.#error(`key "${key}" appears twice in one map`, offset);
      if (!this.#takes(':')) throw this.#error('expected ":" after a key');
      entries.set(key, this.#value(depth + 1));
    } while (this.#takes(','));
    if (!this.#takes('}')) throw this.#error('expected "," or "}"');
    return entries;
  }

  #list(depth: number): ManifestNode[] {
    const items: ManifestNode[] = [];
    this.#at += 1;
    if (this.#takes(']')) return items;
    do items.push(this.#value(depth + 1));
    while (this.#takes(','));
    if (!this.#takes(']')) throw this.#error('expected "," or "]"');
    return items;
  }

  #string(): string {
    const offset = this.#at;
    let end = offset + 1;
    while (end < this.#text.length && this.#text[end] !== '"') end += this.#text[end] === '\\' ? 2 : 1;
    if (end >= this.#text.length) throw this.#error('unterminated string', offset);
    this.#at = end + 1;
    try {
      return JSON.parse(this.#text.slice(offset, this.#at)) as string;
    } catch {
      throw this.#error('a string has an invalid escape or a raw control character', offset);
    }
  }

  #word(): ScalarValue {
    const offset = this.#at;
    const word = this.#match(/[-+.\w]+/y);
    if (word === 'true') return true;
    if (word === 'false') return false;
    if (word === 'null') return null;
    if (word === undefined)
      throw this.#error(offset >= this.#text.length ? 'unexpected end' : 'expected a value');
    if (/^-?(0|[1-9]\d*)$/.test(word)) return narrow(BigInt(word));
    if (/^-?(0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?$/.test(word)) return Number(word);
    throw this.#error(`"${word}" is not a value`, offset);
  }

  #match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text)?.[0];
    if (found !== undefined) this.#at += found.length;
    return found;
  }

  #takes(token: string): boolean {
    this.#skipBlank();
    if (this.#text[this.#at] !== token) return false;
    this.#at += 1;
    return true;
  }

  #skipBlank(): void {
    this.#match(/[ \t\r\n]*/y);
  }

  #error(problem: string, offset = this.#at): ManifestSyntaxError {
    return new ManifestSyntaxError(`not valid JSON: ${problem}`, this.#places.at(offset));
  }
}
