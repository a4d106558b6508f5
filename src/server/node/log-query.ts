// Parses and validates node log queries. Pure. Upstream: newNodeLogQuery and validate in
// pkg/kubelet/kubelet_server_journal.go, with its messages.

export interface LogQuery {
  readonly services: readonly string[];
  readonly files: readonly string[];
  readonly sinceMs: number | undefined;
  readonly untilMs: number | undefined;
  readonly tailLines: number | undefined;
  readonly boot: number | undefined;
  readonly pattern: string;
}

type ParsedQuery =
  /** Not a query: the request is for a path. */
  | { readonly kind: 'none' }
  | { readonly kind: 'query'; readonly query: LogQuery }
  | { readonly kind: 'invalid'; readonly errors: readonly string[] };

const maxServices = 4;
const maxServiceLength = 256;
const maxTailLines = 100_000;

export function parseLogQuery(params: URLSearchParams): ParsedQuery {
  const errors: string[] = [];
  const queries = params.getAll('query');
  const isFile = (text: string): boolean => /[/\\]/.test(text);
  const files = queries.filter(isFile);
  const services = queries.filter((text) => !isFile(text) && text.trim() !== '');
  if (queries.length > 0 && files.length + services.length === 0)
    errors.push(`query: Invalid value: ${JSON.stringify(queries)}: may not be empty`);
  const query: LogQuery = {
    services,
    files,
    sinceMs: timeOf(params, 'sinceTime', errors),
    untilMs: timeOf(params, 'untilTime', errors),
    boot: numberOf(params, 'boot', errors),
    tailLines: numberOf(params, 'tailLines', errors),
    pattern: params.get('pattern') ?? '',
  };
  if (errors.length > 0) return { kind: 'invalid', errors };
  return queries.length === 0 && !hasOptions(query) ? { kind: 'none' } : { kind: 'query', query };
}

export function hasOptions({ boot, pattern, sinceMs, tailLines, untilMs }: LogQuery): boolean {
  return [boot, sinceMs, tailLines, untilMs].some((value) => value !== undefined) || pattern !== '';
}

/** `fileProblem`: why the requested file cannot be read, if so. */
export function queryErrors(query: LogQuery, fileProblem: string | undefined): readonly string[] {
  const { boot, pattern, sinceMs, tailLines, untilMs } = query;
  const errors = [...serviceErrors(query.services), ...targetErrors(query, fileProblem)];
  if (sinceMs !== undefined && untilMs !== undefined && sinceMs > untilMs)
    errors.push(`untilTime: Invalid value: "${goTime(untilMs)}": must be after \`sinceTime\``);
  if (boot !== undefined && boot > 0) errors.push(`boot: Invalid value: ${boot}: must be less than 1`);
  if (tailLines !== undefined && (tailLines < 0 || tailLines > maxTailLines))
    errors.push(`tailLines: Invalid value: ${tailLines}: must be between 0 and ${maxTailLines}, inclusive`);
  const wrong = patternProblem(pattern);
  if (wrong !== undefined) errors.push(`pattern: Invalid value: ${JSON.stringify(pattern)}: ${wrong}`);
  return errors;
}

/** As Go joins errors. */
export function joinErrors(errors: readonly string[]): string {
  const distinct = [...new Set(errors)];
  return distinct.length === 1 ? (distinct[0] ?? '') : `[${distinct.join(', ')}]`;
}

function serviceErrors(services: readonly string[]): string[] {
  const errors = services.flatMap((name) => {
    const wrong = serviceProblem(name);
    return wrong === undefined ? [] : [`query: Invalid value: ${JSON.stringify(name)}: ${wrong}`];
  });
  if (services.length > maxServices)
    errors.push(`query: Too many: ${services.length}: must have at most ${maxServices} items`);
  return errors;
}

function serviceProblem(name: string): string | undefined {
  if (name.length > maxServiceLength) return `length must be less than ${maxServiceLength}`;
  return /[^a-zA-Z\-_.:0-9@]/.test(name) ? 'input contains unsupported characters' : undefined;
}

function targetErrors(query: LogQuery, fileProblem: string | undefined): readonly string[] {
  const { files, services } = query;
  const invalid = (why: string): readonly string[] => [
    `query: Invalid value: ${JSON.stringify(files)}: ${why}`,
  ];
  if (files.length === 0 && services.length === 0)
    return ['query: Required value: cannot be empty with options'];
  if (files.length > 0 && services.length > 0) {
    const both = `[${files.join(' ')}], [${services.join(' ')}]`;
    return [`query: Invalid value: ${JSON.stringify(both)}: cannot specify a file and service`];
  }
  if (files.length > 1) return invalid('cannot specify more than one file');
  if (files.length === 1 && hasOptions(query)) return invalid('cannot specify file with options');
  return files.length === 1 && fileProblem !== undefined ? invalid(fileProblem) : [];
}

function timeOf(params: URLSearchParams, name: string, errors: string[]): number | undefined {
  const text = params.get(name) ?? '';
  if (text === '') return undefined;
  const shape = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})$/;
  const ms = shape.test(text) ? Date.parse(text) : Number.NaN;
  if (!Number.isNaN(ms)) return ms;
  errors.push(`${name}: Invalid value: ${JSON.stringify(text)}: invalid time format`);
  return undefined;
}

function numberOf(params: URLSearchParams, name: string, errors: string[]): number | undefined {
  const text = params.get(name) ?? '';
  if (text === '') return undefined;
  if (/^[+-]?\d+$/.test(text) && Number.isSafeInteger(Number(text))) return Number(text);
  const quoted = JSON.stringify(text);
  const why = /^[+-]?\d+$/.test(text) ? 'value out of range' : 'invalid syntax';
  errors.push(`${name}: Invalid value: ${quoted}: strconv.Atoi: parsing ${quoted}: ${why}`);
  return undefined;
}

function goTime(ms: number): string {
  // regex-bound: 27, a time in ISO's form
  return new Date(ms).toISOString().replace(/\.?0*Z$/, 'Z');
}

/** Go's syntax is nearly JavaScript's; what differs is passed to journalctl, which validates it again. */
function patternProblem(pattern: string): string | undefined {
  const known = pattern.replace(/\(\?[imsU]+\)/g, '').replaceAll('(?P<', '(?<');
  try {
    // regex-made: parsed for its syntax, never run on a text
    RegExp(known);
    return undefined;
  } catch {
    return `error parsing regexp: \`${pattern}\``;
  }
}

/** The arguments of journalctl. */
export function journalArguments(query: LogQuery, services: readonly string[]): readonly string[] {
  return [
    '--utc',
    '--no-pager',
    '--output=short-precise',
    ...(query.sinceMs === undefined ? [] : [`--since=${journalTime(query.sinceMs)}`]),
    ...(query.untilMs === undefined ? [] : [`--until=${journalTime(query.untilMs)}`]),
    ...(query.tailLines === undefined ? [] : ['--pager-end', `--lines=${query.tailLines}`]),
    ...services.map((service) => `--unit=${service}`),
    ...(query.pattern === '' ? [] : [`--grep=${query.pattern}`]),
    ...(query.boot === undefined ? [] : ['--boot', String(query.boot)]),
  ];
}

// differs from upstream: there a time keeps its original zone, while journalctl parses it as UTC.
function journalTime(ms: number): string {
  const at = new Date(ms);
  const date = `${at.getUTCFullYear()}-${at.getUTCMonth() + 1}-${at.getUTCDate()}`;
  return `${date} ${at.getUTCHours()}:${at.getUTCMinutes()}:${at.getUTCSeconds()}`;
}
