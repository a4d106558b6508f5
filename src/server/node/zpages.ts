// /statusz and /flagz: pages for humans. Upstream: k8s.io/component-base/zpages.
import { errorResponse, type HttpRequest, type RouteHandler, textResponse } from '../http-message.ts';

export interface StatuszDeps {
  readonly startedAtMs: number;
  readonly now: () => number;
  /** The versions of Node.js, of this kubelet and of the kubelet that it emulates. */
  readonly versions: { readonly node: string; readonly binary: string; readonly emulation: string };
}

export function statuszHandler(deps: StatuszDeps): RouteHandler {
  return textPage(() => statusz(deps));
}

/** Served only to clients that accept plain text explicitly. */
export function textPage(render: () => string): RouteHandler {
  return (request) =>
    acceptsText(request)
      ? textResponse(render())
      : errorResponse(406, 'media type not acceptable, must be: text/plain');
}

function statusz({ now, startedAtMs, versions }: StatuszDeps): string {
  return `
kubelet statusz
Warning: This endpoint is not meant to be machine parseable, has no formatting compatibility guarantees and is for debugging purposes only.

Started: ${new Date(startedAtMs).toUTCString()}
Up: ${upTime(Math.max(0, Math.floor((now() - startedAtMs) / 1000)))}
Node.js version: ${versions.node}
Binary version: ${versions.binary}
Emulation version: ${versions.emulation}
`;
}

function upTime(seconds: number): string {
  const two = (value: number): string => String(value).padStart(2, '0');
  const minutes = Math.floor(seconds / 60);
  return `${Math.floor(minutes / 60)} hr ${two(minutes % 60)} min ${two(seconds % 60)} sec`;
}

function acceptsText({ headers }: HttpRequest): boolean {
  const header = headers['accept'];
  const accept = (typeof header === 'string' ? header : header?.[0]) ?? '';
  return accept.split(',').some((part) => {
    const [type = '', ...params] = part.split(';').map((each) => each.trim().toLowerCase());
    const plain = /^(text|\*)\/(plain|\*)$/.test(type);
    const others = params.filter((param) => !/^(q=|charset=utf-8$)/.test(param));
    return plain && others.length === 0;
  });
}
