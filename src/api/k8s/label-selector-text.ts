// Label selectors in the text form of kubectl and of the API's query parameters: `a=b,c in (d,e),!f,g>1`.
// Invariant: the output of formatLabelSelector parses into equal requirements. Upstream: apimachinery/pkg/labels (Parse).
import {
  invalidSelector,
  type LabelOperator,
  type LabelRequirement,
  type LabelRequirements,
  labelRequirement,
  sortedByKey,
} from './labels.ts';

const binaryOperators: ReadonlySet<string> = new Set<LabelOperator>([
  '=',
  '==',
  '!=',
  'in',
  'notin',
  '>',
  '<',
]);

interface Token {
  readonly text: string;
  readonly isWord: boolean;
}

function tokenize(text: string): readonly Token[] {
  const tokens: Token[] = [];
  let end = text.length;
  while (end > 0 && ' \t\r\n'.includes(text[end - 1] ?? '')) end -= 1;
  const token = /[ \t\r\n]*(?:(?<symbol>==|!=|[=!(),<>])|(?<word>[^ \t\r\n=!(),<>]+))/y;
  while (token.lastIndex < end) {
    const groups = token.exec(text)?.groups ?? {};
    const { word, symbol = '' } = groups;
    tokens.push(word === undefined ? { text: symbol, isWord: false } : { text: word, isWord: true });
  }
  return tokens;
}

class Reader {
  readonly #tokens: readonly Token[];
  #at = 0;

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens;
  }

  peek(): Token | undefined {
    return this.#tokens[this.#at];
  }

  next(): Token | undefined {
    const found = this.peek();
    this.#at += 1;
    return found;
  }

  /** Consumes the symbol if it is next. */
  take(symbol: string): boolean {
    const found = this.peek();
    if (found === undefined || found.isWord || found.text !== symbol) return false;
    this.#at += 1;
    return true;
  }

  word(expected: string): string {
    const found = this.next();
    if (found?.isWord === true) return found.text;
    throw unexpected(found, expected);
  }
}

function unexpected(found: Token | undefined, expected: string): Error {
  const what = found === undefined ? 'the end' : JSON.stringify(found.text);
  return invalidSelector(`found ${what} where ${expected} should be`);
}

function endsTerm(found: Token | undefined): boolean {
  return found === undefined || (!found.isWord && found.text === ',');
}

function readTerm(reader: Reader): LabelRequirement {
  if (reader.take('!')) return labelRequirement(reader.word('a key'), '!', []);
  const key = reader.word('a key');
  if (endsTerm(reader.peek())) return labelRequirement(key, 'exists', []);
  const operator = reader.next();
  if (operator === undefined || !isBinary(operator.text)) {
    throw unexpected(operator, `one of ${[...binaryOperators].join(' ')}`);
  }
  if (operator.text === 'in' || operator.text === 'notin') {
    return labelRequirement(key, operator.text, readSet(reader));
  }
  // Without a value after the operator, the value is empty.
  return labelRequirement(key, operator.text, [endsTerm(reader.peek()) ? '' : reader.word('a value')]);
}

function isBinary(text: string): text is LabelOperator {
  return binaryOperators.has(text);
}

/** `(a,b)`; nothing between commas is the empty value. */
function readSet(reader: Reader): readonly string[] {
  if (!reader.take('(')) throw unexpected(reader.peek(), "'('");
  const values = new Set<string>();
  do {
    values.add(reader.peek()?.isWord === true ? reader.word('a value') : '');
  } while (reader.take(','));
  if (!reader.take(')')) throw unexpected(reader.peek(), "',' or ')'");
  return [...values].sort();
}

/** Parses a selector into requirements, sorted by key. Throws `invalid`. */
export function parseLabelSelector(text: string): LabelRequirements {
  const reader = new Reader(tokenize(text));
  const requirements: LabelRequirement[] = [];
  if (reader.peek() === undefined) return requirements;
  do {
    requirements.push(readTerm(reader));
  } while (reader.take(','));
  if (reader.peek() !== undefined) throw unexpected(reader.peek(), "',' or the end");
  return sortedByKey(requirements);
}

function formatOne({ key, operator, values }: LabelRequirement): string {
  if (operator === 'exists') return key;
  if (operator === '!') return `!${key}`;
  if (operator === 'in' || operator === 'notin')
    return `${key} ${operator} (${[...values].sort().join(',')})`;
  return `${key}${operator}${values.join(',')}`;
}

export function formatLabelSelector(requirements: LabelRequirements): string {
  return requirements.map(formatOne).join(',');
}
