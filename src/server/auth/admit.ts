// Admits a request to its route or rejects it: 401 if unauthenticated, 403 if unauthorized, 500 if authorization fails.
// Upstream: InstallAuthFilter in pkg/kubelet/server/server.go.
import { describeError, isAbortOf } from '../../base/errors.ts';
import type { Logger } from '../../base/log/log.ts';
import { type HttpRequest, type HttpResponse, restfulError } from '../http-message.ts';
import type { Admit } from '../router.ts';
import type { Access } from './access-reviews.ts';
import { type AuthenticateDeps, authenticate } from './authenticate.ts';
import { type AttributeSettings, type NodeAttributes, nodeAttributes } from './node-attributes.ts';
import type { UserInfo } from './user.ts';

export interface AdmitDeps {
  readonly authentication: AuthenticateDeps;
  /** Undefined: every authenticated client may do everything (AlwaysAllow). */
  readonly access: { isAllowed(access: Access, signal: AbortSignal): Promise<boolean> } | undefined;
  readonly settings: AttributeSettings;
  readonly log: Logger;
}

export function admission(deps: AdmitDeps): Admit {
  return async (request, row) => {
    const result = await authenticate(deps.authentication, request);
    if ('problem' in result) {
      // Encoded, so that unauthenticated clients inject neither log lines nor terminal sequences.
      const path = encodeURI(request.path);
      deps.log.v(2).info('Rejected unauthenticated request', { path, problem: result.problem });
      return restfulError(401, 'Unauthorized');
    }
    const attributes = nodeAttributes(deps.settings, row, request.method);
    return await authorize(deps, request, result.user, attributes);
  };
}

async function authorize(
  { access, log }: AdmitDeps,
  { path, signal }: HttpRequest,
  user: UserInfo,
  { subresources, verb }: NodeAttributes,
): Promise<HttpResponse | undefined> {
  if (access === undefined) return undefined;
  for (const subresource of subresources) {
    try {
      if (await access.isAllowed({ user, verb, subresource, path }, signal)) return undefined;
    } catch (err) {
      if (isAbortOf(err, signal)) throw err;
      log.error('Failed to authorize request', {
        user: user.name,
        verb,
        subresource,
        err: describeError(err),
      });
      return restfulError(
        500,
        `Authorization error (user=${user.name}, verb=${verb}, resource=nodes, subresource=${subresource})`,
      );
    }
  }
  log.v(2).info('Rejected unauthorized request', { user: user.name, verb, subresources });
  return restfulError(
    403,
    `Forbidden (user=${user.name}, verb=${verb}, resource=nodes, subresource(s)=[${subresources.join(' ')}])\n`,
  );
}
