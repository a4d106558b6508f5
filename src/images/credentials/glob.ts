// Matches shell patterns: `*`, `?`, `[a-z]`, `[^a]`, `\\x`. Pure. Upstream: Go's path/filepath.Match on Linux.
// Invariants: a malformed pattern matches nothing; the time is at most the product of both lengths, since text that a star has
// matched is never retried for an earlier star.

type Token =
  | { readonly is: 'character'; readonly code: number }
  /** Any character except `/`. */
  | { readonly is: 'any' }
  | { readonly is: 'class'; readonly negated: boolean; readonly ranges: readonly Range[] };

type Range = readonly [low: number, high: number];

/** The tokens between two stars. */
type Chunk = readonly Token[];

const slash = 0x2f;

export function globMatches(pattern: string, text: string): boolean {
  const chunks = parseGlob(pattern);
  if (chunks === undefined) return false;
  const codes = Array.from(text, codeOf);
  const [first = [], ...rest] = chunks;
  if (!matchesAt(first, codes, 0)) return false;
  let at = first.length;
  for (const [index, chunk] of rest.entries()) {
    // The earliest match leaves most text for the chunks after it; the last chunk must match at the end.
    const earliest = index === rest.length - 1 ? Math.max(at, codes.length - chunk.length) : at;
    const found = find(chunk, codes, at, earliest);
    if (found === undefined) return false;
    at = found + chunk.length;
  }
  return at === codes.length;
}

/** The first match of the chunk at or after `earliest`. The star before it spans `from` to the match, but no slash. */
function find(chunk: Chunk, codes: readonly number[], from: number, earliest: number): number | undefined {
  for (let at = from; at + chunk.length <= codes.length; at += 1) {
    if (at >= earliest && matchesAt(chunk, codes, at)) return at;
    if (codes[at] === slash) return undefined;
  }
  return undefined;
}

function matchesAt(chunk: Chunk, codes: readonly number[], at: number): boolean {
  if (at + chunk.length > codes.length) return false;
  return chunk.every((token, index) => matchesOne(token, codes[at + index] ?? 0));
}

function matchesOne(token: Token, code: number): boolean {
  if (token.is === 'character') return token.code === code;
  if (token.is === 'any') return code !== slash;
  return token.ranges.some(([low, high]) => low <= code && code <= high) !== token.negated;
}

/** The chunks around the stars, where consecutive stars count as one; undefined if the pattern is malformed. */
function parseGlob(pattern: string): readonly Chunk[] | undefined {
  const characters = Array.from(pattern);
  const chunks: Token[][] = [[]];
  let at = 0;
  while (at < characters.length) {
    const character = characters[at];
    at += 1;
    if (character === '*') {
      while (characters[at] === '*') at += 1;
      chunks.push([]);
      continue;
    }
    let token: Token;
    if (character === '[') {
      const read = readClass(characters, at);
      if (read === undefined) return undefined;
      ({ token, at } = read);
    } else if (character === '?') {
      token = { is: 'any' };
    } else {
      if (character === '\\') at += 1;
      const literal = characters[at - 1];
      if (literal === undefined) return undefined;
      token = { is: 'character', code: codeOf(literal) };
    }
    chunks.at(-1)?.push(token);
  }
  return chunks;
}

/** Reads from after the opening bracket to after the closing one. */
function readClass(
  characters: readonly string[],
  from: number,
): { readonly token: Token; readonly at: number } | undefined {
  const negated = characters[from] === '^';
  const ranges: Range[] = [];
  let at = negated ? from + 1 : from;
  while (ranges.length === 0 || characters[at] !== ']') {
    const low = readMember(characters, at);
    if (low === undefined) return undefined;
    at = low.at;
    if (characters[at] !== '-') {
      ranges.push([low.code, low.code]);
      continue;
    }
    const high = readMember(characters, at + 1);
    if (high === undefined) return undefined;
    at = high.at;
    // A reversed range is valid and matches nothing.
    ranges.push([low.code, high.code]);
  }
  return { token: { is: 'class', negated, ranges }, at: at + 1 };
}

function readMember(
  characters: readonly string[],
  from: number,
): { readonly code: number; readonly at: number } | undefined {
  const first = characters[from];
  if (first === '-' || first === ']') return undefined;
  const at = first === '\\' ? from + 1 : from;
  const member = characters[at];
  // A class at the end of the pattern is unterminated.
  if (member === undefined || at + 1 >= characters.length) return undefined;
  return { code: codeOf(member), at: at + 1 };
}

function codeOf(character: string): number {
  return character.codePointAt(0) ?? 0;
}
