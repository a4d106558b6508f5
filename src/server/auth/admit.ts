// Lets a request through to its route, or says why not: 401 to who cannot be told from others, 403 to who may not, 500 when
// it cannot be found out. Upstream: InstallAuthFilter in pkg/kubelet/server/server.go.
import { describeError, isAbortOf } from '../../base/errors.ts';
import type { Logger } from '../../base/log/log.ts';
import { type HttpRequest, type HttpResponse, refusal } from '../http-message.ts';
import type { Admit } from '../router.ts';
import type { Access } from './access-reviews.ts';
import { type AuthenticateDeps, authenticate } from './authenticate.ts';
import { type AttributeSettings, type NodeAttributes, nodeAttributes } from './node-attributes.ts';
import type { UserInfo } from './user.ts';

export interface AdmitDeps {
  readonly authentication: AuthenticateDeps;
  /** Undefined: everybody who is known may do everything. */
  readonly access: { isAllowed(access: Access, signal: AbortSignal): Promise<boolean> } | undefined;
  readonly settings: AttributeSettings;
  readonly log: Logger;
}

export function admission(deps: AdmitDeps): Admit {
  return async (request, row) => {
    const who = await authenticate(deps.authentication, request);
    if ('problem' in who) {
      // What strangers write into the log is neither a line of its own nor an order to a terminal.
      const path = encodeURI(request.path);
      deps.log.v(2).info('Unauthorized', { path, problem: who.problem });
      return refusal(401, 'Unauthorized');
    }
    const attributes = nodeAttributes(deps.settings, row, request.method);
    return await authorize(deps, request, who.user, attributes);
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
      log.error('Authorization error', { user: user.name, verb, subresource, err: describeError(err) });
      return refusal(
        500,
        `Authorization error (user=${user.name}, verb=${verb}, resource=nodes, subresource=${subresource})`,
      );
    }
  }
  log.v(2).info('Forbidden', { user: user.name, verb, subresources });
  return refusal(
    403,
    `Forbidden (user=${user.name}, verb=${verb}, resource=nodes, subresource(s)=[${subresources.join(' ')}])\n`,
  );
}
