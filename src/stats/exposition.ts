// Renders families of samples directly to text, for endpoints with one series per container, which a registry would have to
// drop again. Invariant: families are sorted by name. Upstream: the const metrics of prometheus/client_golang.
import { header, numberText } from '../base/metrics.ts';

export interface FamilySpec {
  readonly name: string;
  readonly type: 'counter' | 'gauge';
  readonly help: string;
}

export class Exposition {
  readonly #families = new Map<string, { readonly spec: FamilySpec; readonly lines: string[] }>();

  constructor(specs: readonly FamilySpec[]) {
    for (const spec of specs.toSorted((a, b) => (a.name < b.name ? -1 : 1)))
      this.#families.set(spec.name, { spec, lines: [] });
  }

  /** `labels`: as formatted by labelText(). */
  add(name: string, labels: string, value: number, atMs?: number): void {
    const family = this.#families.get(name);
    if (family === undefined) throw new RangeError(`unknown metric family ${name}`);
    const at = atMs === undefined ? '' : ` ${Math.trunc(atMs)}`;
    const braced = labels === '' ? '' : `{${labels}}`;
    family.lines.push(`${name}${braced} ${numberText(value)}${at}\n`);
  }

  /** Omits families without samples. */
  render(): string {
    return [...this.#families.values()]
      .filter(({ lines }) => lines.length > 0)
      .map(({ lines, spec }) => header(spec, spec.type) + lines.join(''))
      .join('');
  }
}
