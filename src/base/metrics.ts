// Counters, gauges and histograms, and their Prometheus text exposition. Upstream: component-base/metrics.
// Invariants: a series exists from its first use, a counter or histogram without labels from its registration; rendering
// changes nothing; an observation costs one map lookup.

interface MetricSpec<L extends string> {
  readonly name: string;
  readonly help: string;
  readonly labels?: readonly L[];
}

type LabelValues<L extends string> = Readonly<Record<L, string>>;

/** A family without its values. */
interface FamilyDescription {
  readonly name: string;
  readonly type: string;
  readonly labels: readonly string[];
}

interface Family extends FamilyDescription {
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

  /** Registers a callback that runs before every rendering, for gauges that are computed on scrape. */
  onCollect(collect: () => void): void {
    this.#collectors.push(collect);
  }

  /** All families by name, for the documentation and its drift test. */
  describe(): readonly FamilyDescription[] {
    const sorted = this.#families.toSorted((a, b) => (a.name < b.name ? -1 : 1));
    return sorted.map(({ labels, name, type }) => ({ name, type, labels }));
  }

  names(): readonly string[] {
    return this.describe().map(({ name }) => name);
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
      throw new RangeError(`metric ${family.name} is already registered`);
    }
    this.#families.push(family);
    return family;
  }
}

/** The buckets of most of upstream's histograms in seconds. */
export const defaultBuckets: readonly number[] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** As Prometheus' ExponentialBuckets(0.005, 2.5, 14). */
export function exponentialBuckets(start: number, factor: number, count: number): readonly number[] {
  return Array.from({ length: count }, (_, index) => start * factor ** index);
}

class Values<L extends string> {
  readonly name: string;
  readonly type: string;
  readonly labels: readonly L[];
  readonly #spec: MetricSpec<L>;
  protected readonly values = new Map<string, number>();

  constructor(spec: MetricSpec<L>, type: string) {
    this.name = spec.name;
    this.type = type;
    this.labels = spec.labels ?? [];
    this.#spec = spec;
  }

  protected key(labels: LabelValues<L>): string {
    return labelText(this.labels, labels);
  }

  /** Drops the series of a removed object. */
  remove(labels: LabelValues<L>): void {
    this.values.delete(this.key(labels));
  }

  render(): string {
    const lines = [...this.values].map(
      ([labels, value]) => `${this.name}${braces(labels)} ${numberText(value)}\n`,
    );
    return lines.length === 0 ? '' : header(this.#spec, this.type) + lines.join('');
  }
}

class Counter<L extends string> extends Values<L> {
  constructor(spec: MetricSpec<L>) {
    super(spec, 'counter');
    if (this.labels.length === 0) this.values.set('', 0);
  }

  inc(labels: LabelValues<L>, by = 1): void {
    const key = this.key(labels);
    this.values.set(key, (this.values.get(key) ?? 0) + by);
  }

  /** For a count that is kept outside this process. Never decreases. */
  raiseTo(labels: LabelValues<L>, value: number): void {
    const key = this.key(labels);
    this.values.set(key, Math.max(this.values.get(key) ?? 0, value));
  }
}

export class Gauge<L extends string> extends Values<L> {
  constructor(spec: MetricSpec<L>) {
    super(spec, 'gauge');
  }

  set(labels: LabelValues<L>, value: number): void {
    this.values.set(this.key(labels), value);
  }

  /** Drops every series, so that removed objects are not exposed any longer. */
  clear(): void {
    this.values.clear();
  }
}

interface Series {
  /** Per bucket, not cumulative; the last one is +Inf. */
  readonly counts: number[];
  sum: number;
}

class Histogram<L extends string> {
  readonly name: string;
  readonly type = 'histogram';
  readonly labels: readonly L[];
  readonly #spec: MetricSpec<L> & { readonly buckets: readonly number[] };
  readonly #series = new Map<string, Series>();

  constructor(spec: MetricSpec<L> & { readonly buckets: readonly number[] }) {
    this.name = spec.name;
    this.labels = spec.labels ?? [];
    this.#spec = spec;
    if (this.labels.length === 0) this.#add('');
  }

  observe(labels: LabelValues<L>, value: number): void {
    const { buckets } = this.#spec;
    const key = labelText(this.labels, labels);
    const series = this.#series.get(key) ?? this.#add(key);
    const at = buckets.findIndex((bound) => value <= bound);
    const index = at === -1 ? buckets.length : at;
    series.counts[index] = (series.counts[index] ?? 0) + 1;
    series.sum += value;
  }

  /** Drops the series of a removed object. */
  remove(labels: LabelValues<L>): void {
    this.#series.delete(labelText(this.labels, labels));
  }

  render(): string {
    if (this.#series.size === 0) return '';
    return (
      header(this.#spec, this.type) +
      [...this.#series].map(([key, series]) => this.#lines(key, series)).join('')
    );
  }

  #add(key: string): Series {
    const counts = Array.from({ length: this.#spec.buckets.length + 1 }, () => 0);
    const series = { counts, sum: 0 };
    this.#series.set(key, series);
    return series;
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

/** The HELP and TYPE lines of a family. */
export function header(spec: Pick<MetricSpec<string>, 'name' | 'help'>, type: string): string {
  const help = spec.help.replaceAll('\\', '\\\\').replaceAll('\n', '\\n');
  return `# HELP ${spec.name} ${help}\n# TYPE ${spec.name} ${type}\n`;
}

/** `a="1",b="2"`, escaped. */
export function labelText<L extends string>(names: readonly L[], labels: LabelValues<L>): string {
  return names.map((name) => `${name}="${escapeLabel(labels[name])}"`).join(',');
}

function escapeLabel(value: string): string {
  return value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}

function braces(labels: string): string {
  return labels === '' ? '' : `{${labels}}`;
}

/** A value in Prometheus' text format. */
export function numberText(value: number): string {
  if (value === Number.POSITIVE_INFINITY) return '+Inf';
  if (value === Number.NEGATIVE_INFINITY) return '-Inf';
  return String(value);
}
