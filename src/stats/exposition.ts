// Families of samples that are rendered straight to text: for endpoints with a series per container, which a registry would
// have to forget again. Upstream: the const metrics of prometheus/client_golang. Invariant: families come in the order of their names.
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

  /** `labels` as labelText() makes them. */
  add(name: string, labels: string, value: number, atMs?: number): void {
    const family = this.#families.get(name);
    if (family === undefined) throw new RangeError(`there is no family ${name}`);
    const at = atMs === undefined ? '' : ` ${Math.trunc(atMs)}`;
    const braced = labels === '' ? '' : `{${labels}}`;
    family.lines.push(`${name}${braced} ${numberText(value)}${at}\n`);
  }

  /** Families without a sample are left out. */
  render(): string {
    return [...this.#families.values()]
      .filter(({ lines }) => lines.length > 0)
      .map(({ lines, spec }) => header(spec, spec.type) + lines.join(''))
      .join('');
  }
}
