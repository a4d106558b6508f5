// Decodes HPACK's Huffman code (RFC 7541, appendix B). The code is canonical: the lengths of the symbols define it.
// Invariant: takes time linear in the input; the output has at most 8/5 of its length.

/** Bits of the code of each octet, `a` for 5. The end-of-string symbol has 30 bits, all ones. */
const lengthText =
  'isxxxxxxxtzxxzxxxxxxxxzxxxxxxxxxbffhibdgffdgdbbbaaabbbbbbbcdkbhfibccccccccccccccccccccccdcdioijbkabababbbaccbbbabcbaabccccck' +
  'gjixprpprrrsrssssststtrstssssqrsrsstrqprrssqsrrtqrssqqrqsrssprrrsrrsvvporsruvvvwwvtuoqvwwvwtqqvvxwwwptpqrqqsrruuttvsvwvvwwww' +
  'wxwwwwwv';
const shortest = 5;
const longest = 30;

interface Codes {
  /** By length: the first code of that length, and the symbols in the order of their codes. */
  readonly first: readonly number[];
  readonly symbols: readonly (readonly number[])[];
}

const { first, symbols } = canonicalCodes();

/** Undefined if the text is no valid code. */
export function huffmanDecode(bytes: Uint8Array): string | undefined {
  const octets: number[] = [];
  let code = 0;
  let length = 0;
  for (const byte of bytes)
    for (let bit = 7; bit >= 0; bit--) {
      code = code * 2 + ((byte >> bit) & 1);
      length += 1;
      if (length > longest) return undefined;
      const symbol = symbols[length]?.[code - (first[length] ?? 0)];
      if (symbol === undefined) continue;
      octets.push(symbol);
      code = 0;
      length = 0;
    }
  // The rest is padding: fewer than eight ones.
  if (length > 7 || code !== 2 ** length - 1) return undefined;
  return Buffer.from(octets).toString('latin1');
}

function canonicalCodes(): Codes {
  const byLength: number[][] = Array.from({ length: longest + 1 }, () => []);
  for (let octet = 0; octet < lengthText.length; octet++)
    byLength[lengthText.charCodeAt(octet) - 97 + shortest]?.push(octet);
  const starts: number[] = [];
  let code = 0;
  for (let length = 0; length <= longest; length++) {
    code *= 2;
    starts.push(code);
    code += byLength[length]?.length ?? 0;
  }
  return { first: starts, symbols: byLength };
}
