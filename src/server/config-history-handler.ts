// Serves /configz/history: the configurations of this node and what became of them. Upstream has no counterpart; until 1.23
// Node.status.config had the current ones.
import { jsonResponse, type RouteHandler } from './http-message.ts';

interface ConfigHistorySource {
  /** Masked, newest first. */
  entries(): readonly object[];
  current(): object;
}

export function configHistoryHandler(source: ConfigHistorySource): RouteHandler {
  return () => {
    const body = { current: source.current(), configurations: source.entries() };
    return jsonResponse(`${JSON.stringify(body)}\n`);
  };
}
