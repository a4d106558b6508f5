// Which rows of the table of pods are shown, and in which order. Pure.
import type { PodRow } from '../../src/api/ports/node-page.ts';
import type { UsageHistory } from '../data/usage-history.ts';

export const sortKeys = ['name', 'namespace', 'status', 'restarts', 'age', 'cpu', 'memory'] as const;
export type SortKey = (typeof sortKeys)[number];

export interface Order {
  readonly by: SortKey;
  readonly descending: boolean;
}

/** The direction that is looked for first: the worst, the most, the youngest. */
export function firstDirection(by: SortKey): Order {
  return { by, descending: by === 'restarts' || by === 'cpu' || by === 'memory' };
}

/** From the address: `cpu` ascending, `-cpu` descending. */
export function parseOrder(text: string | null): Order {
  const by = sortKeys.find((key) => key === text?.replace(/^-/, ''));
  return by === undefined
    ? { by: 'status', descending: false }
    : { by, descending: text?.startsWith('-') === true };
}

export function formatOrder({ by, descending }: Order): string {
  return `${descending ? '-' : ''}${by}`;
}

const urgency: Readonly<Record<PodRow['tone'], number>> = { bad: 0, busy: 1, good: 2, done: 3 };

export function sortRows(
  rows: readonly PodRow[],
  { by, descending }: Order,
  history: UsageHistory,
): readonly PodRow[] {
  const value = (row: PodRow): number | string => {
    switch (by) {
      case 'name':
        return row.name;
      case 'namespace':
        return row.namespace;
      case 'status':
        return urgency[row.tone] ?? 2;
      case 'restarts':
        return row.restarts;
      case 'age':
        return -(row.createdMs ?? 0);
      case 'cpu':
      case 'memory': {
        const now = history.now(row.uid, by);
        return Number.isNaN(now) ? -1 : now;
      }
    }
  };
  const sign = descending ? -1 : 1;
  return rows
    .map((row) => ({ row, value: value(row) }))
    .sort((a, b) => sign * compare(a.value, b.value) || tie(a.row, b.row))
    .map(({ row }) => row);
}

/** By code units: the same in every browser, and a tenth of the cost of a collation. */
function compare(a: number | string, b: number | string): number {
  return a < b ? -1 : Number(a > b);
}

function tie(a: PodRow, b: PodRow): number {
  return compare(a.namespace, b.namespace) || compare(a.name, b.name) || compare(a.uid, b.uid);
}

/** Rows that contain every word, in any of the texts that the table shows. */
export function filterRows(rows: readonly PodRow[], text: string, namespace: string): readonly PodRow[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  return rows.filter((row) => {
    if (namespace !== '' && row.namespace !== namespace) return false;
    if (words.length === 0) return true;
    const { ip, name, sentence, source, status } = row;
    const texts = `${name} ${row.namespace} ${status} ${ip} ${source} ${sentence}`.toLowerCase();
    return words.every((word) => texts.includes(word));
  });
}

export function namespacesOf(rows: readonly PodRow[]): readonly string[] {
  return [...new Set(rows.map(({ namespace }) => namespace))].sort();
}
