// Generates the hardest texts for a regular expression from the expression's own parts: a prefix that reaches a repetition, a
// pump that the repetition matches many times (or that reaches it once more), and a suffix that makes the match fail.
import { parseRegex, type Sequence, type Term } from './parse.ts';

/** The text `prefix`, then `pump` many times, then `suffix`. */
export interface Attack {
  readonly prefix: string;
  readonly pump: string;
  readonly suffix: string;
}

const candidates = [
  ...Array.from('a0A .-_/:,;=\'"\\\n\t\r[](){}<>*$%^!?#&|+@~`gzGZ9'),
  '\0',
  'é',
  '\u2028',
  '\ud83d\ude42',
];

/** A repetition with a lower maximum is cheap. */
const manyTimes = 100;

/** Empty if nothing repeats: such an expression cannot be slow. */
export function attacksOn(source: string, flags: string): readonly Attack[] {
  const alternatives = parseRegex(source);
  const alphabet = new Alphabet(alternatives, flags);
  const repeats: Repeat[] = [];
  findRepeats(alternatives, '', alphabet, repeats);
  if (repeats.length === 0) return [];
  const prefixes = new Set(['', alphabet.foreign, ...repeats.map(({ prefix }) => prefix)]);
  const pumps = new Set([...alphabet.representatives, ...repeats.flatMap(({ pumps: own }) => own)]);
  pumps.delete('');
  const suffixes = new Set([alphabet.foreign, '\n', '']);
  return [...prefixes].flatMap((prefix) =>
    [...pumps].flatMap((pump) => [...suffixes].map((suffix) => ({ prefix, pump, suffix }))),
  );
}

/** The characters that the expression's parts distinguish. */
class Alphabet {
  /** One character of each equivalence class. */
  readonly representatives: readonly string[];
  /** A character that no part matches, else the one that the fewest match. */
  readonly foreign: string;
  readonly #flags: string;

  constructor(alternatives: readonly Sequence[], flags: string) {
    this.#flags = flags.replace(/[gy]/g, '');
    const atoms = new Set(atomsOf(alternatives));
    const tests = [...atoms].map((each) => new RegExp(`^(?:${each})$`, this.#flags));
    // Every literal character of the expression is a candidate, too.
    const own = [...atoms]
      .map((each) => each.replace(/^\\(?=[^\w])/, ''))
      .filter((each) => Array.from(each).length === 1);
    const byKind = new Map<string, string>();
    for (const each of [...candidates, ...own]) {
      const kind = tests.map((one) => (one.test(each) ? '1' : '0')).join('');
      if (!byKind.has(kind)) byKind.set(kind, each);
    }
    this.representatives = [...byKind.values()];
    const ones = (kind: string): number => kind.split('1').length;
    this.foreign = [...byKind].toSorted(([a], [b]) => ones(a) - ones(b))[0]?.[1] ?? '\0';
  }

  sampleOf(source: string): string {
    const literal = source.replace(/^\\(?=[^\w])/, '');
    const one = new RegExp(`^(?:${source})$`, this.#flags);
    if (Array.from(literal).length === 1 && one.test(literal)) return literal;
    const found = candidates.find((each) => one.test(each));
    if (found !== undefined) return found;
    for (let code = 0; code < 0x3000; code += 1) {
      const each = String.fromCodePoint(code);
      if (one.test(each)) return each;
    }
    return '';
  }
}

function atomsOf(alternatives: readonly Sequence[]): readonly string[] {
  const ofTerm = (term: Term): readonly string[] => {
    if (term.is === 'atom') return [term.source];
    if (term.is === 'repeat') return ofTerm(term.term);
    return atomsOf(term.is === 'group' ? term.alternatives : term.inner);
  };
  return alternatives.flat().flatMap(ofTerm);
}

interface Repeat {
  readonly prefix: string;
  readonly pumps: readonly string[];
}

function findRepeats(
  alternatives: readonly Sequence[],
  before: string,
  alphabet: Alphabet,
  found: Repeat[],
): void {
  for (const sequence of alternatives) {
    let prefix = before;
    for (const [index, term] of sequence.entries()) {
      findInTerm(term, prefix, sequence.slice(index + 1), alphabet, found);
      prefix += sample(term, alphabet);
    }
  }
}

function findInTerm(term: Term, prefix: string, after: Sequence, alphabet: Alphabet, found: Repeat[]): void {
  if (term.is === 'atom') return;
  if (term.is === 'group') return findRepeats(term.alternatives, prefix, alphabet, found);
  if (term.is === 'mark') return findRepeats(term.inner, prefix, alphabet, found);
  if (term.max >= manyTimes) {
    const bodies = bodiesOf(term.term).map((each) => sampleAll(each, alphabet));
    const rest = sampleAll(after, alphabet);
    // The prefix once more, since a search without an anchor restarts at each of these; and nearly what follows.
    const again = bodies.map((body) => `${prefix}${body}`);
    found.push({ prefix, pumps: [...bodies, bodies.join(''), ...again, prefix, rest, rest.slice(0, -1)] });
  }
  findInTerm(term.term, prefix, after, alphabet, found);
}

function bodiesOf(term: Term): readonly Sequence[] {
  return term.is === 'group' ? term.alternatives : [[term]];
}

function sampleAll(sequence: Sequence, alphabet: Alphabet): string {
  return sequence.map((term) => sample(term, alphabet)).join('');
}

function sample(term: Term, alphabet: Alphabet): string {
  switch (term.is) {
    case 'atom':
      return alphabet.sampleOf(term.source);
    case 'mark':
      return '';
    case 'group':
      return sampleAll(term.alternatives.find((each) => each.length > 0) ?? [], alphabet);
    case 'repeat':
      return sample(term.term, alphabet).repeat(Math.min(Math.max(term.min, Math.min(term.max, 1)), 1_000));
  }
}
