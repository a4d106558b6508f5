// A parsed manifest before typing: the common model of YAML and JSON, with the position of every value.
// Upstream: the generic value between sigs.k8s.io/yaml and the decoder, without positions.

export type ScalarValue = string | number | bigint | boolean | null;

export type ManifestNode =
  | { readonly kind: 'scalar'; readonly value: ScalarValue; readonly offset: number }
  | { readonly kind: 'list'; readonly items: readonly ManifestNode[]; readonly offset: number }
  | { readonly kind: 'map'; readonly entries: ReadonlyMap<string, ManifestNode>; readonly offset: number };

interface Place {
  readonly line: number;
  readonly column: number;
}

/** A manifest that cannot be parsed, with the position. The caller adds the file's name. */
export class ManifestSyntaxError extends Error {
  override readonly name = 'ManifestSyntaxError';

  constructor(problem: string, place?: Place) {
    super(place === undefined ? problem : `line ${place.line}, column ${place.column}: ${problem}`);
  }
}

/** Line and column (from 1) of an offset into the text. */
export class Places {
  readonly #starts: number[] = [0];

  constructor(text: string) {
    for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) this.#starts.push(at + 1);
  }

  at(offset: number): Place {
    let low = 0;
    let high = this.#starts.length;
    while (high - low > 1) {
      const middle = (low + high) >>> 1;
      if ((this.#starts[middle] ?? 0) <= offset) low = middle;
      else high = middle;
    }
    return { line: low + 1, column: offset - (this.#starts[low] ?? 0) + 1 };
  }
}

export function describeNode(node: ManifestNode): string {
  if (node.kind === 'list') return 'a list';
  if (node.kind === 'map') return 'a map';
  if (node.value === null) return 'nothing';
  if (typeof node.value === 'string') return 'a string';
  return typeof node.value === 'boolean' ? `the boolean ${node.value}` : `the number ${node.value}`;
}
