// Chooses the representation of /statusz and /flagz by the Accept header, and writes objects in it. Pure.
// Upstream: k8s.io/apiserver/pkg/endpoints/handlers/{negotiation,responsewriters}, github.com/munnerz/goautoneg.
import { stringify } from 'yaml';
import { goJson } from '../../api/k8s/go-json.ts';
import type { HttpRequest, HttpResponse } from '../http-message.ts';

/** In upstream's order: a wildcard gets the first that is allowed. */
const mediaTypes = ['application/json', 'application/yaml', 'text/plain'] as const;
type MediaType = (typeof mediaTypes)[number];

interface Representation {
  readonly type: MediaType;
  /** `as`, `v` and `g`; undefined if the client requests none of the three. */
  readonly target: Target | undefined;
  /** Requested in the Accept header. */
  readonly pretty: boolean;
}

export interface Target {
  readonly kind: string;
  readonly version: string;
  readonly group: string;
}

/** The best representation that is allowed; undefined if there is none. Unknown parameters are ignored. */
export function negotiate(
  request: HttpRequest,
  allows: (type: MediaType, target: Target | undefined) => boolean,
): Representation | undefined {
  for (const { params, type: wanted } of clauses(acceptOf(request))) {
    if ((params.get('stream') ?? '') !== '' || (params.get('sv') ?? '') !== '') continue;
    const target = targetOf(params);
    const type = mediaTypes.find((each) => matches(wanted, each) && allows(each, target));
    if (type !== undefined) return { type, target, pretty: params.get('pretty') === '1' };
  }
  return undefined;
}

export function acceptOf({ headers }: HttpRequest): string {
  const header = headers['accept'];
  return ((typeof header === 'string' ? header : header?.[0]) ?? '').trim();
}

/** A metav1.Status as JSON, or as YAML for a client that accepts only that. */
export function notAcceptable(request: HttpRequest): HttpResponse {
  const status = {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message: `only the following media types are accepted: ${mediaTypes.join(', ')}`,
    reason: 'NotAcceptable',
    code: 406,
  };
  const chosen = negotiate(request, (_, target) => target === undefined);
  const fallback: Representation = { type: 'application/json', target: undefined, pretty: true };
  return { ...structured(request, chosen ?? fallback, status), status: 406 };
}

/** An object in JSON or YAML. */
export function structured(request: HttpRequest, chosen: Representation, object: object): HttpResponse {
  const { pretty, target, type } = chosen;
  const parameters = target === undefined ? '' : `;g=${target.group};v=${target.version};as=${target.kind}`;
  const body =
    type === 'application/yaml'
      ? stringify(object, { version: '1.1', sortMapEntries: true, indentSeq: false, lineWidth: 0 })
      : pretty || isForHumans(request)
        ? goJson(object, 2)
        : `${goJson(object)}\n`;
  return { status: 200, headers: { 'content-type': `${type}${parameters}` }, body };
}

function isForHumans({ headers, query }: HttpRequest): boolean {
  const pretty = query.get('pretty') ?? '';
  if (pretty !== '') return ['1', 't', 'T', 'true', 'TRUE', 'True'].includes(pretty);
  const agent = String(headers['user-agent'] ?? '');
  return ['curl', 'Wget', 'Mozilla/5.0'].some((prefix) => agent.startsWith(prefix));
}

interface Clause {
  readonly type: string;
  readonly quality: number;
  readonly params: ReadonlyMap<string, string>;
}

/** An Accept header of a real client is far below these. */
const maxClauses = 100;
const maxParameters = 20;

/** The most wanted first; of equally wanted ones, wildcards last. */
function clauses(accept: string): readonly Clause[] {
  return accept
    .split(',', maxClauses)
    .map(clauseOf)
    .toSorted((a, b) => b.quality - a.quality || wildcards(a.type) - wildcards(b.type));
}

function clauseOf(part: string): Clause {
  const [type = '', ...rest] = part.split(';', maxParameters).map((each) => each.trim());
  const params = new Map<string, string>();
  for (const param of rest) {
    const [name = '', value = '', ...more] = param.split('=', 3).map((each) => each.trim());
    if (value !== '' && more.length === 0) params.set(name, value);
  }
  const quality = Number(params.get('q') ?? 1);
  return { type: type === '*' ? '*/*' : type, quality: Number.isNaN(quality) ? 0 : quality, params };
}

function wildcards(type: string): number {
  return type.split('*').length;
}

function matches(wanted: string, type: MediaType): boolean {
  return wanted === type || wanted === '*/*' || wanted === `${type.slice(0, type.indexOf('/'))}/*`;
}

function targetOf(params: ReadonlyMap<string, string>): Target | undefined {
  const [kind, version, group] = [params.get('as'), params.get('v'), params.get('g')];
  if (kind === undefined && version === undefined && group === undefined) return undefined;
  return { kind: kind ?? '', version: version ?? '', group: group ?? '' };
}
