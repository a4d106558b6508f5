// Reads the part of the shell's language that tests write: lists, pipes, loops, conditions, traps, redirections.
// Invariant: what is not understood is an error that names it; nothing is guessed.

/** A piece of a word. Only what is not in single quotes is expanded, only what is in no quotes is split. */
interface Part {
  readonly text: string;
  readonly expand: boolean;
  readonly quoted: boolean;
}

export type Word = readonly Part[];

export interface Redirect {
  readonly fd: 1 | 2;
  /** A file, or the other stream. */
  readonly to: Word | 1 | 2;
  readonly append: boolean;
}

export type Script =
  | { readonly kind: 'list'; readonly items: readonly Script[] }
  | { readonly kind: 'and' | 'or'; readonly left: Script; readonly right: Script }
  | { readonly kind: 'pipe'; readonly commands: readonly Script[] }
  | { readonly kind: 'background' | 'not'; readonly body: Script }
  | { readonly kind: 'while'; readonly condition: Script; readonly body: Script; readonly until: boolean }
  | { readonly kind: 'if'; readonly condition: Script; readonly body: Script; readonly otherwise?: Script }
  | { readonly kind: 'for'; readonly name: string; readonly words: readonly Word[]; readonly body: Script }
  | {
      readonly kind: 'command';
      readonly assignments: readonly (readonly [string, Word])[];
      readonly words: readonly Word[];
      readonly redirects: readonly Redirect[];
    };

type Token = { readonly op: string } | { readonly word: Word } | { readonly redirect: string };

const operators = ['&&', '||', ';', '&', '|', '\n', '(', ')', '`'];
const closing = new Set(['do', 'done', 'then', 'else', 'fi']);

export function parseShell(text: string): Script {
  const parser = new Parser(tokenize(text.replaceAll('\\\n', '')));
  const script = parser.list();
  parser.expectEnd();
  return script;
}

function tokenize(text: string): Token[] {
  const tokens: Token[] = [];
  let at = 0;
  while (at < text.length) {
    const rest = text.slice(at);
    const blank = /^(?:[ \t]+|#[^\n]*)/.exec(rest)?.[0];
    const redirect = /^[012]?(?:>>|>|<)(?:&[12])?/.exec(rest)?.[0];
    const op = operators.find((each) => rest.startsWith(each));
    if (blank !== undefined) at += blank.length;
    else if (redirect !== undefined) {
      tokens.push({ redirect });
      at += redirect.length;
    } else if (op !== undefined) {
      tokens.push({ op });
      at += op.length;
    } else {
      const { word, length } = readWord(rest);
      tokens.push({ word });
      at += length;
    }
  }
  return tokens;
}

function readWord(text: string): { word: Word; length: number } {
  const parts: Part[] = [];
  let at = 0;
  const take = (pattern: RegExp): string | undefined => pattern.exec(text.slice(at))?.[0];
  while (at < text.length && !/^[\s;&|()<>]/.test(text.slice(at))) {
    const single = take(/^'[^']*'/);
    const double = take(/^"(?:[^"\\]|\\[\s\S])*"/);
    const plain = take(/^(?:\$\(\([^)]*\)\)|\\[\s\S]|[^\s;&|()<>'"\\])+/);
    if (single !== undefined) {
      parts.push({ text: single.slice(1, -1), expand: false, quoted: true });
      at += single.length;
    } else if (double !== undefined) {
      parts.push({ text: double.slice(1, -1).replace(/\\(["\\`])/g, '$1'), expand: true, quoted: true });
      at += double.length;
    } else if (plain !== undefined) {
      parts.push({ text: plain.replace(/\\([^$])/g, '$1'), expand: true, quoted: false });
      at += plain.length;
    } else throw new Error(`shell: cannot read ${JSON.stringify(text.slice(at))}`);
  }
  return { word: parts, length: at };
}

/** The text of a word that has nothing to expand. */
export function literal(word: Word | undefined): string | undefined {
  if (word === undefined || word.some((part) => part.expand && part.text.includes('$'))) return undefined;
  return word.map((part) => part.text).join('');
}

class Parser {
  readonly #tokens: readonly Token[];
  #at = 0;

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens;
  }

  list(): Script {
    const items: Script[] = [];
    while (this.#takeOp('\n'));
    while (!this.#atEndOfList()) {
      const item = this.#andOr();
      items.push(this.#takeOp('&') ? { kind: 'background', body: item } : item);
      if (!this.#takeOp(';', '\n') && items.at(-1)?.kind !== 'background') break;
      while (this.#takeOp('\n', ';'));
    }
    return items.length === 1 && items[0] !== undefined ? items[0] : { kind: 'list', items };
  }

  expectEnd(): void {
    if (this.#at < this.#tokens.length) throw this.#error();
  }

  #andOr(): Script {
    let left = this.#pipe();
    for (;;) {
      const kind = this.#takeOp('&&') ? 'and' : this.#takeOp('||') ? 'or' : undefined;
      if (kind === undefined) return left;
      while (this.#takeOp('\n'));
      left = { kind, left, right: this.#pipe() };
    }
  }

  #pipe(): Script {
    if (this.#keyword() === '!') {
      this.#at++;
      return { kind: 'not', body: this.#pipe() };
    }
    const commands = [this.#one()];
    while (this.#takeOp('|')) commands.push(this.#one());
    return commands.length === 1 && commands[0] !== undefined ? commands[0] : { kind: 'pipe', commands };
  }

  #one(): Script {
    const keyword = this.#keyword();
    if (keyword === 'while' || keyword === 'until') {
      this.#at++;
      const condition = this.list();
      return { kind: 'while', condition, body: this.#block('do', 'done'), until: keyword === 'until' };
    }
    if (keyword === 'for') {
      this.#at++;
      const name = literal(this.#word()) ?? '';
      this.#expect('in');
      const words: Word[] = [];
      for (let word = this.#word(); word !== undefined; word = this.#word()) words.push(word);
      this.#takeOp(';', '\n');
      return { kind: 'for', name, words, body: this.#block('do', 'done') };
    }
    return keyword === 'if' ? this.#if() : this.#command();
  }

  #if(): Script {
    this.#at++;
    const condition = this.list();
    this.#expect('then');
    const body = this.list();
    const otherwise = this.#keyword() === 'else' ? (this.#at++, this.list()) : undefined;
    this.#expect('fi');
    return otherwise === undefined
      ? { kind: 'if', condition, body }
      : { kind: 'if', condition, body, otherwise };
  }

  #block(open: string, close: string): Script {
    this.#expect(open);
    const body = this.list();
    this.#expect(close);
    return body;
  }

  #command(): Script {
    const assignments: (readonly [string, Word])[] = [];
    const words: Word[] = [];
    const redirects: Redirect[] = [];
    for (
      let token = this.#tokens[this.#at];
      token !== undefined && !('op' in token);
      token = this.#tokens[this.#at]
    ) {
      this.#at++;
      if ('redirect' in token) {
        redirects.push(this.#redirect(token.redirect));
        continue;
      }
      const first = token.word[0];
      const assigned = first?.quoted === false ? /^([A-Za-z_]\w*)=/.exec(first.text) : null;
      if (words.length === 0 && assigned?.[1] !== undefined && first !== undefined) {
        const value = [{ ...first, text: first.text.slice(assigned[0].length) }, ...token.word.slice(1)];
        assignments.push([assigned[1], value]);
      } else words.push(token.word);
    }
    if (words.length + assignments.length + redirects.length === 0) throw this.#error();
    return { kind: 'command', assignments, words, redirects };
  }

  #redirect(text: string): Redirect {
    const fd = text.startsWith('2') ? 2 : 1;
    const append = text.includes('>>');
    if (text.includes('<')) throw new Error(`shell: input cannot be redirected here: ${text}`);
    if (text.includes('&')) return { fd, append, to: text.endsWith('2') ? 2 : 1 };
    const to = this.#word();
    if (to === undefined) throw this.#error();
    return { fd, append, to };
  }

  #keyword(): string | undefined {
    const token = this.#tokens[this.#at];
    return token !== undefined && 'word' in token && token.word[0]?.quoted === false
      ? literal(token.word)
      : undefined;
  }

  #word(): Word | undefined {
    const token = this.#tokens[this.#at];
    if (token === undefined || !('word' in token)) return undefined;
    this.#at++;
    return token.word;
  }

  #takeOp(...ops: readonly string[]): boolean {
    const token = this.#tokens[this.#at];
    if (token === undefined || !('op' in token) || !ops.includes(token.op)) return false;
    this.#at++;
    return true;
  }

  #atEndOfList(): boolean {
    return this.#at >= this.#tokens.length || closing.has(this.#keyword() ?? '');
  }

  #expect(keyword: string): void {
    if (this.#keyword() !== keyword) throw this.#error(keyword);
    this.#at++;
  }

  #error(wanted?: string): Error {
    const rest = JSON.stringify(this.#tokens.slice(this.#at, this.#at + 3));
    return new Error(`shell: ${wanted === undefined ? 'cannot read' : `expected ${wanted} at`} ${rest}`);
  }
}
