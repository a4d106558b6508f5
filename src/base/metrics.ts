// Counters, gauges and histograms, and their text for a Prometheus scrape. Upstream: component-base/metrics.
// Invariants: a series exists from its first touch; rendering reads and changes nothing; an observation costs one map look-up.

export interface MetricSpec<L extends string> {
  readonly name: string;
  readonly help: string;
  readonly labels?: readonly L[];
}

export type LabelValues<L extends string> = Readonly<Record<L, string>>;

interface Family {
  readonly name: string;
  render(): string;
}

export class Metrics {
  readonly #families: Family[] = [];
  readonly #collectors: (() => void)[] = [];

  counter<L extends string = never>(spec: MetricSpec<L>): Counter<L> {
    return this.#add(new Counter(spec));
  }

  gauge<L extends string = never>(spec: MetricSpec<L>): Gauge<L> {
    return this.#add(new Gauge(spec));
  }

  histogram<L extends string = never>(
    spec: MetricSpec<L> & { readonly buckets: readonly number[] },
  ): Histogram<L> {
    return this.#add(new Histogram(spec));
  }

  /** Called before every rendering, to set gauges that nothing else keeps up to date. */
  onCollect(collect: () => void): void {
    this.#collectors.push(collect);
  }

  /** Names and help of every metric, for the documentation and its test. */
  names(): readonly string[] {
    return this.#families.map((family) => family.name).sort();
  }

  render(): string {
    for (const collect of this.#collectors) collect();
    return this.#families
      .toSorted((a, b) => (a.name < b.name ? -1 : 1))
      .map((family) => family.render())
      .join('');
  }

  #add<F extends Family>(family: F): F {
    if (this.#families.some(({ name }) => name === family.name)) {
      throw new RangeError(`metric ${family.name} is there already`);
    }
    this.#families.push(family);
    return family;
  }
}

/** `exponentialBuckets(0.005, 2.5, 14)`: upstream's way to spell buckets. */
export function exponentialBuckets(start: number, factor: number, count: number): readonly number[] {
  return Array.from({ length: count }, (_, index) => start * factor ** index);
}

class Values<L extends string> {
  readonly name: string;
  readonly #spec: MetricSpec<L>;
  readonly #type: string;
  protected readonly values = new Map<string, number>();

  constructor(spec: MetricSpec<L>, type: string) {
    this.name = spec.name;
    this.#spec = spec;
    this.#type = type;
  }

  protected key(labels: LabelValues<L>): string {
    return labelText(this.#spec.labels ?? [], labels);
  }

  /** Drops one series, for something that has gone. */
  remove(labels: LabelValues<L>): void {
    this.values.delete(this.key(labels));
  }

  render(): string {
    const lines = [...this.values].map(
      ([labels, value]) => `${this.name}${braces(labels)} ${numberText(value)}\n`,
    );
    return header(this.#spec, this.#type) + lines.join('');
  }
}

export class Counter<L extends string> extends Values<L> {
  constructor(spec: MetricSpec<L>) {
    super(spec, 'counter');
  }

  inc(labels: LabelValues<L>, by = 1): void {
    const key = this.key(labels);
    this.values.set(key, (this.values.get(key) ?? 0) + by);
  }
}

export class Gauge<L extends string> extends Values<L> {
  constructor(spec: MetricSpec<L>) {
    super(spec, 'gauge');
  }

  set(labels: LabelValues<L>, value: number): void {
    this.values.set(this.key(labels), value);
  }

  /** Drops every series, so that what has gone does not stay on show. */
  clear(): void {
    this.values.clear();
  }
}

interface Series {
  /** Per bucket, not cumulative; the last one is beyond every bound. */
  readonly counts: number[];
  sum: number;
}

export class Histogram<L extends string> {
  readonly name: string;
  readonly #spec: MetricSpec<L> & { readonly buckets: readonly number[] };
  readonly #series = new Map<string, Series>();

  constructor(spec: MetricSpec<L> & { readonly buckets: readonly number[] }) {
    this.name = spec.name;
    this.#spec = spec;
  }

  observe(labels: LabelValues<L>, value: number): void {
    const { buckets, labels: names = [] } = this.#spec;
    const key = labelText(names, labels);
    let series = this.#series.get(key);
    if (series === undefined) {
      series = { counts: Array.from({ length: buckets.length + 1 }, () => 0), sum: 0 };
      this.#series.set(key, series);
    }
    const at = buckets.findIndex((bound) => value <= bound);
    const index = at === -1 ? buckets.length : at;
    series.counts[index] = (series.counts[index] ?? 0) + 1;
    series.sum += value;
  }

  /** Drops one series, for something that has gone. */
  remove(labels: LabelValues<L>): void {
    this.#series.delete(labelText(this.#spec.labels ?? [], labels));
  }

  render(): string {
    return (
      header(this.#spec, 'histogram') +
      [...this.#series].map(([key, series]) => this.#lines(key, series)).join('')
    );
  }

  #lines(key: string, series: Series): string {
    let total = 0;
    const lines = series.counts.map((count, index) => {
      total += count;
      const bound = this.#spec.buckets[index];
      const le = `le="${bound === undefined ? '+Inf' : numberText(bound)}"`;
      return `${this.name}_bucket${braces(key === '' ? le : `${key},${le}`)} ${total}\n`;
    });
    const tail = `${this.name}_sum${braces(key)} ${numberText(series.sum)}\n${this.name}_count${braces(key)} ${total}\n`;
    return lines.join('') + tail;
  }
}

function header(spec: MetricSpec<string>, type: string): string {
  const help = spec.help.replaceAll('\\', '\\\\').replaceAll('\n', '\\n');
  return `# HELP ${spec.name} ${help}\n# TYPE ${spec.name} ${type}\n`;
}

function labelText<L extends string>(names: readonly L[], labels: LabelValues<L>): string {
  return names.map((name) => `${name}="${escapeLabel(labels[name])}"`).join(',');
}

function escapeLabel(value: string): string {
  return value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}

function braces(labels: string): string {
  return labels === '' ? '' : `{${labels}}`;
}

function numberText(value: number): string {
  if (value === Number.POSITIVE_INFINITY) return '+Inf';
  if (value === Number.NEGATIVE_INFINITY) return '-Inf';
  return String(value);
}
