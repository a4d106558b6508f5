// Authenticates a request by client certificate, by bearer token, or as anonymous if allowed.
// Upstream: DelegatingAuthenticatorConfig in k8s.io/apiserver/pkg/authentication/authenticatorfactory, with its order: the
// certificate first, then tokens. One valid credential is enough; a client with an invalid credential is not anonymous.
import type { ClientCertificate, HttpRequest } from '../../api/ports/http.ts';
import type { Clock } from '../../base/clock.ts';
import { describeError, isAbortOf, KubeletError } from '../../base/errors.ts';
import { masked } from '../../base/log/redact-url.ts';
import { anonymousUser, type UserInfo, withAuthenticatedGroup } from './user.ts';

export interface AuthenticateDeps {
  /** Whether client certificates are accepted: clientCAFile is set. */
  readonly certificates: boolean;
  /** The gate AllowParsingUserUIDFromCertAuth. */
  readonly certificateUids: boolean;
  /** Looks up the user of a token; undefined if tokens are not accepted. */
  readonly tokens:
    | { userOf(token: string, signal: AbortSignal, peer?: string): Promise<UserInfo | undefined> }
    | undefined;
  readonly anonymous: boolean;
  readonly metrics?: { observeCertificate(notAfterMs: number): void };
  readonly clock: Pick<Clock, 'now'>;
}

/** `problem` is for the log: clients do not learn why their credential is invalid. */
export type Authentication = { readonly user: UserInfo } | { readonly problem: string };

export async function authenticate(deps: AuthenticateDeps, request: HttpRequest): Promise<Authentication> {
  const problems: string[] = [];
  const certificate = deps.certificates ? request.certificate : undefined;
  if (certificate !== undefined) {
    const problem = certificate.problem ?? validityProblem(certificate, deps.clock.now());
    if (problem !== undefined) problems.push(`client certificate: ${problem}`);
    else if (certificate.commonName !== '') {
      deps.metrics?.observeCertificate(certificate.notAfterMs);
      return { user: withAuthenticatedGroup(certificateUser(certificate, deps)) };
    }
  }
  if (deps.tokens !== undefined) {
    let tried = '';
    try {
      for (const token of bearerTokens(request)) {
        tried = token;
        const user = await deps.tokens.userOf(token, request.signal, request.peer);
        if (user !== undefined) return { user: withAuthenticatedGroup(user) };
        problems.push('invalid bearer token');
      }
    } catch (err) {
      if (isAbortOf(err, request.signal)) throw err;
      // The error of an API server may echo the review, and the problem is logged.
      const text = describeError(err);
      problems.push(tried === '' ? text : text.replaceAll(tried, masked));
    }
  }
  if (problems.length > 0) return { problem: problems.join(', ') };
  return deps.anonymous ? { user: anonymousUser } : { problem: 'no credentials' };
}

/** A connection may outlive its client certificate. */
function validityProblem({ notAfterMs, notBeforeMs }: ClientCertificate, nowMs: number): string | undefined {
  return nowMs < notBeforeMs || nowMs > notAfterMs ? 'has expired or is not yet valid' : undefined;
}

function certificateUser(certificate: ClientCertificate, { certificateUids }: AuthenticateDeps): UserInfo {
  return {
    name: certificate.commonName,
    uid: certificateUids ? certificate.uid : '',
    groups: certificate.organizations,
    extra: { 'authentication.kubernetes.io/credential-id': [`X509SHA256=${certificate.sha256}`] },
  };
}

/** Throws for a malformed token. */
export function* bearerTokens(request: Pick<HttpRequest, 'headers' | 'upgrade'>): Iterable<string> {
  const header = first(request.headers['authorization']).trim();
  const [scheme = '', token = ''] = header.split(' ');
  if (scheme.toLowerCase() === 'bearer' && token !== '') yield token;
  const fromProtocol = request.upgrade ? tokenProtocol(request) : undefined;
  if (fromProtocol !== undefined) yield fromProtocol;
}

const tokenProtocolPrefix = 'base64url.bearer.authorization.k8s.io.';

/** Browsers cannot set headers of a WebSocket, so a token may be one of the offered protocols. */
function tokenProtocol(request: Pick<HttpRequest, 'headers'>): string | undefined {
  const { protocols, tokens } = splitProtocols(request.headers['sec-websocket-protocol']);
  const [encoded] = tokens;
  if (encoded === undefined) return undefined;
  if (tokens.length > 1) throw invalidProtocol('multiple base64.bearer.authorization tokens specified');
  if (!/^[A-Za-z0-9_-]*$/.test(encoded) || encoded.length % 4 === 1)
    throw invalidProtocol('invalid base64.bearer.authorization token encoding');
  const token = Buffer.from(encoded, 'base64url').toString('utf8');
  if (token.includes('\uFFFD')) throw invalidProtocol('invalid base64.bearer.authorization token');
  if (token === '') return undefined;
  if (protocols.length === 0) throw invalidProtocol('missing additional subprotocol');
  return token;
}

/** Separates the protocols that a client offers from tokens. */
function splitProtocols(header: string | readonly string[] | undefined): {
  readonly protocols: readonly string[];
  readonly tokens: readonly string[];
} {
  const all = (typeof header === 'string' ? [header] : (header ?? []))
    .flatMap((each) => each.split(','))
    .map((each) => each.trim());
  return {
    protocols: all.filter((each) => !each.startsWith(tokenProtocolPrefix)),
    tokens: all
      .filter((each) => each.startsWith(tokenProtocolPrefix))
      .map((each) => each.slice(tokenProtocolPrefix.length)),
  };
}

function invalidProtocol(message: string): KubeletError {
  return new KubeletError('invalid', 'InvalidToken', message);
}

function first(header: string | readonly string[] | undefined): string {
  return (typeof header === 'string' ? header : header?.[0]) ?? '';
}
