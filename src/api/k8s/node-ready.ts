import type { Node } from './types.ts';

export function isNodeReady(node: Node | undefined): boolean {
  const conditions = node?.status?.conditions ?? [];
  return conditions.some(({ type, status }) => type === 'Ready' && status === 'True');
}
