// The page's keys as data, and which action a key means. Pure; use-keys.ts carries the actions out.

export type KeyAction =
  | 'filter'
  | 'next'
  | 'previous'
  | 'first'
  | 'last'
  | 'pods'
  | 'eviction'
  | 'health'
  | 'logs'
  | 'shell'
  | 'copy'
  | 'help'
  | 'back';

interface KeyRow {
  readonly keys: readonly string[];
  readonly action: KeyAction;
  readonly does: string;
}

/** A key of two letters is typed one after the other. */
export const keyTable: readonly KeyRow[] = [
  { keys: ['/'], action: 'filter', does: 'Filter the table, or search in logs and spec' },
  { keys: ['j', 'ArrowDown'], action: 'next', does: 'Next row' },
  { keys: ['k', 'ArrowUp'], action: 'previous', does: 'Previous row' },
  { keys: ['g g'], action: 'first', does: 'First row' },
  { keys: ['G'], action: 'last', does: 'Last row' },
  { keys: ['g p'], action: 'pods', does: 'Pods' },
  { keys: ['g e'], action: 'eviction', does: 'Eviction order' },
  { keys: ['g h'], action: 'health', does: 'Health of the kubelet' },
  { keys: ['l'], action: 'logs', does: 'Logs of the pod' },
  { keys: ['s'], action: 'shell', does: 'Shell in the pod' },
  { keys: ['c'], action: 'copy', does: 'Copy the kubectl command of this view' },
  { keys: ['?'], action: 'help', does: 'This help' },
  { keys: ['Escape'], action: 'back', does: 'Back: leave the search, close a dialog, or one view up' },
];

interface KeyPress {
  readonly key: string;
  readonly ctrlKey: boolean;
  readonly metaKey: boolean;
  readonly altKey: boolean;
}

/** `pending` is the first key of a pair that was pressed before, or empty. */
export function readKey(
  pending: string,
  { altKey, ctrlKey, key, metaKey }: KeyPress,
): { readonly action: KeyAction | undefined; readonly pending: string } {
  if (altKey || ctrlKey || metaKey) return { action: undefined, pending: '' };
  const wanted = pending === '' ? key : `${pending} ${key}`;
  const found = keyTable.find(({ keys }) => keys.includes(wanted));
  if (found !== undefined) return { action: found.action, pending: '' };
  const begins = keyTable.some(({ keys }) => keys.some((each) => each.startsWith(`${key} `)));
  return { action: undefined, pending: begins ? key : '' };
}
