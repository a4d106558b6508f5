// A strict parser of the Prometheus text format. Upstream: prometheus/common/expfmt.
// Invariant: in the result every family is unique, contiguous and typed, and every series is unique.

interface ParsedSample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
  readonly atMs: number | undefined;
}

export interface ParsedFamily {
  readonly name: string;
  readonly type: string;
  readonly help: string;
  readonly samples: readonly ParsedSample[];
}

const types = new Set(['counter', 'gauge', 'histogram', 'summary', 'untyped']);
const metricName = /^[a-zA-Z_:][a-zA-Z0-9_:]*/;
const labelName = /^[a-zA-Z_][a-zA-Z0-9_]*/;

export function parsePrometheusText(text: string): ReadonlyMap<string, ParsedFamily> {
  if (text !== '' && !text.endsWith('\n')) throw new SyntaxError('the last line has no newline');
  const families = new Map<string, { name: string; type: string; help: string; samples: ParsedSample[] }>();
  let open: { name: string; type: string; help: string; samples: ParsedSample[] } | undefined;
  let help: { readonly name: string; readonly text: string } | undefined;
  for (const [index, line] of text.split('\n').slice(0, -1).entries()) {
    const fail = (why: string): never => {
      throw new SyntaxError(`line ${index + 1}: ${why}: ${line}`);
    };
    if (line.startsWith('# HELP ')) {
      const [, name = '', rest = ''] = /^# HELP (\S+) (.*)$/.exec(line) ?? fail('no help');
      help = { name, text: rest };
    } else if (line.startsWith('# TYPE ')) {
      const [, name = '', type = ''] = /^# TYPE (\S+) (\S+)$/.exec(line) ?? fail('no type');
      if (!types.has(type)) fail('unknown type');
      if (help?.name !== name) fail('TYPE without a HELP line before it');
      if (families.has(name)) fail('duplicate family');
      open = { name, type, help: help?.text ?? '', samples: [] };
      families.set(name, open);
    } else {
      const sample = parseSample(line);
      if (open === undefined || !belongs(sample.name, open)) fail('sample outside its family');
      open?.samples.push(sample);
    }
  }
  for (const family of families.values()) check(family);
  return families;
}

function parseSample(line: string): ParsedSample {
  const name = metricName.exec(line)?.[0] ?? '';
  if (name === '') throw new SyntaxError(`missing name: ${line}`);
  let rest = line.slice(name.length);
  const labels: Record<string, string> = {};
  if (rest.startsWith('{')) {
    rest = rest.slice(1);
    while (!rest.startsWith('}')) {
      const key = labelName.exec(rest)?.[0] ?? '';
      const value = /^="((?:[^"\\\n]|\\["\\n])*)"/.exec(rest.slice(key.length));
      if (key === '' || value === null || key in labels) throw new SyntaxError(`bad label: ${line}`);
      labels[key] = (value[1] ?? '').replaceAll(/\\(.)/g, (_, sign: string) => (sign === 'n' ? '\n' : sign));
      rest = rest.slice(key.length + value[0].length);
      if (rest.startsWith(',')) rest = rest.slice(1);
      else if (!rest.startsWith('}')) throw new SyntaxError(`unterminated labels: ${line}`);
    }
    rest = rest.slice(1);
  }
  const found = /^ (\S+)(?: (-?\d+))?$/.exec(rest);
  if (found === null) throw new SyntaxError(`missing value: ${line}`);
  return {
    name,
    labels,
    value: numberOf(found[1] ?? '', line),
    atMs: found[2] === undefined ? undefined : Number(found[2]),
  };
}

function numberOf(text: string, line: string): number {
  if (text === '+Inf') return Number.POSITIVE_INFINITY;
  if (text === '-Inf') return Number.NEGATIVE_INFINITY;
  if (!/^-?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text)) throw new SyntaxError(`invalid number: ${line}`);
  return Number(text);
}

function belongs(name: string, family: { readonly name: string; readonly type: string }): boolean {
  if (name === family.name) return family.type !== 'histogram';
  return (
    family.type === 'histogram' &&
    ['_bucket', '_sum', '_count'].some((end) => name === `${family.name}${end}`)
  );
}

function check(family: ParsedFamily): void {
  const seen = new Set<string>();
  for (const { labels, name, value } of family.samples) {
    const key = `${name}${labelKey(labels)}`;
    if (seen.has(key)) throw new SyntaxError(`duplicate series: ${key}`);
    seen.add(key);
    if (family.type === 'counter' && value < 0) throw new SyntaxError(`negative counter: ${key}`);
  }
  if (family.type === 'histogram') checkHistogram(family);
}

function labelKey(labels: Readonly<Record<string, string>>, without = ''): string {
  const kept = Object.entries(labels).filter(([name]) => name !== without);
  return JSON.stringify(kept.toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

/** Buckets are cumulative, and the last one equals the count. */
function checkHistogram({ name, samples }: ParsedFamily): void {
  const series = new Map<string, { le: number; count: number }[]>();
  const keyOf = (labels: Readonly<Record<string, string>>): string => labelKey(labels, 'le');
  for (const { labels, name: own, value } of samples) {
    if (own !== `${name}_bucket`) continue;
    const known = series.get(keyOf(labels)) ?? [];
    known.push({
      le: labels['le'] === '+Inf' ? Number.POSITIVE_INFINITY : Number(labels['le']),
      count: value,
    });
    series.set(keyOf(labels), known);
  }
  for (const [key, buckets] of series) {
    const grows = buckets.every(
      ({ count, le }, index) =>
        index === 0 || (le > (buckets[index - 1]?.le ?? 0) && count >= (buckets[index - 1]?.count ?? 0)),
    );
    const total = samples.find((each) => each.name === `${name}_count` && keyOf(each.labels) === key)?.value;
    const sum = samples.some((each) => each.name === `${name}_sum` && keyOf(each.labels) === key);
    const last = buckets.at(-1);
    if (!grows || !sum || last?.le !== Number.POSITIVE_INFINITY || last.count !== total)
      throw new SyntaxError(`inconsistent histogram: ${name} ${key}`);
  }
}

/** The sample with these labels; throws if there is none. */
export function sampleOf(
  families: ReadonlyMap<string, ParsedFamily>,
  name: string,
  labels: Readonly<Record<string, string>> = {},
): ParsedSample {
  const found = families
    .get(name)
    ?.samples.find((each) => Object.entries(labels).every(([key, value]) => each.labels[key] === value));
  if (found === undefined) throw new RangeError(`no sample ${name} with ${JSON.stringify(labels)}`);
  return found;
}
