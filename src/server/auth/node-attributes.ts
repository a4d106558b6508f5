// The authorization attributes of a request: the verb and the subresources of this node. Pure.
// Upstream: GetRequestAttributes in pkg/kubelet/server/auth.go.
import type { RouteRow } from '../route-table.ts';

export interface NodeAttributes {
  readonly verb: string;
  /** Tried in this order; one that is allowed is enough. */
  readonly subresources: readonly string[];
}

export interface AttributeSettings {
  /** The gate KubeletFineGrainedAuthz. */
  readonly fineGrained: boolean;
  /** --allow-get-streams: GET runs commands with the verb get, as in upstream's kubelet. */
  readonly allowGetStreams: boolean;
}

/** A map, since HTTP/2 clients may send any method: an object would find `constructor`. */
const verbs: ReadonlyMap<string, string> = new Map([
  ['POST', 'create'],
  ['GET', 'get'],
  ['PUT', 'update'],
  ['PATCH', 'patch'],
  ['DELETE', 'delete'],
]);

export function nodeAttributes(settings: AttributeSettings, row: RouteRow, method: string): NodeAttributes {
  const { fineSubresource, subresource } = row;
  // differs from upstream: there a GET may exec with the verb get only, since a WebSocket starts with a GET.
  const acts = row.acts === true && method === 'GET' && !settings.allowGetStreams;
  const fine = settings.fineGrained && fineSubresource !== undefined ? [fineSubresource] : [];
  return {
    verb: acts ? 'create' : (row.verb ?? verbs.get(method) ?? ''),
    subresources: [...fine, subresource],
  };
}
