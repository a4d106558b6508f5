// What a request wants to do, in the words of the API: which verb on which subresources of this node. Pure.
// Upstream: GetRequestAttributes in pkg/kubelet/server/auth.go.
import type { RouteRow } from '../route-table.ts';

export interface NodeAttributes {
  readonly verb: string;
  /** One that is allowed admits; tried in this order. */
  readonly subresources: readonly string[];
}

export interface AttributeSettings {
  /** The gate KubeletFineGrainedAuthz. */
  readonly fineGrained: boolean;
  /** --allow-get-streams: GET runs commands with the verb get, as upstream's kubelet has it. */
  readonly allowGetStreams: boolean;
}

/** A map, since an HTTP/2 client may send any method: an object would find `constructor`. */
const verbs: ReadonlyMap<string, string> = new Map([
  ['POST', 'create'],
  ['GET', 'get'],
  ['PUT', 'update'],
  ['PATCH', 'patch'],
  ['DELETE', 'delete'],
]);

export function nodeAttributes(settings: AttributeSettings, row: RouteRow, method: string): NodeAttributes {
  const { fineSubresource, subresource } = row;
  // differs from upstream: there a GET may exec with nothing but the right to read, since a WebSocket begins with one.
  const acts = row.acts === true && method === 'GET' && !settings.allowGetStreams;
  const fine = settings.fineGrained && fineSubresource !== undefined ? [fineSubresource] : [];
  return {
    verb: acts ? 'create' : (row.verb ?? verbs.get(method) ?? ''),
    subresources: [...fine, subresource],
  };
}
