// The table of pods. Rows are drawn again only when their own data or a shown age changed; usage is drawn by UsageCell.
// Roles are explicit, since the style for phones changes the display of the elements.
import type { PodRow } from '../../src/api/ports/node-page.ts';
import { useNow, usePage } from '../data/use-page.ts';
import { Icon } from '../parts/icon.tsx';
import { type Explained, explanations } from '../text/explanations.ts';
import { age } from '../text/format.ts';
import { firstDirection, type Order, type SortKey } from './order.ts';
import { PodTableRow } from './pod-row.tsx';

interface Column {
  readonly name: string;
  readonly className: string;
  readonly sort?: SortKey;
  readonly of?: Explained;
}

const columns: readonly Column[] = [
  { name: 'Name', className: 'c-name', sort: 'name' },
  { name: 'Namespace', className: 'c-namespace', sort: 'namespace' },
  { name: 'Status', className: 'c-status', sort: 'status', of: 'status' },
  { name: 'Ready', className: 'c-ready', of: 'readyContainers' },
  { name: 'Restarts', className: 'c-restarts', sort: 'restarts', of: 'restarts' },
  { name: 'Age', className: 'c-age', sort: 'age', of: 'age' },
  { name: 'CPU', className: 'c-cpu', sort: 'cpu', of: 'podCpu' },
  { name: 'Memory', className: 'c-memory', sort: 'memory', of: 'podMemory' },
  { name: 'IP', className: 'c-ip' },
  { name: 'Source', className: 'c-source', of: 'source' },
  { name: 'Why', className: 'c-why', of: 'why' },
];

interface PodTableProps {
  readonly rows: readonly PodRow[];
  readonly order: Order;
  readonly onOrder: (order: Order) => void;
}

export function PodTable({ onOrder, order, rows }: PodTableProps) {
  const { page } = usePage();
  const nowMs = useNow(hasSeconds(rows, page.nowMs()) ? 1_000 : 10_000);
  return (
    <table class="pods" role="table" aria-label="Pods">
      <thead role="rowgroup">
        <tr role="row">
          {columns.map((column) => (
            <HeadCell key={column.name} column={column} order={order} onOrder={onOrder} />
          ))}
        </tr>
      </thead>
      <tbody role="rowgroup">
        {rows.map((row) => (
          <PodTableRow
            key={row.uid}
            row={row}
            age={age(row.createdMs === undefined ? undefined : nowMs - row.createdMs)}
            lastRestart={row.lastRestartMs === undefined ? '' : age(nowMs - row.lastRestartMs)}
          />
        ))}
      </tbody>
    </table>
  );
}

/** True if an age shows seconds. */
function hasSeconds(rows: readonly PodRow[], nowMs: number): boolean {
  const sinceMs = nowMs - 10 * 60 * 1_000;
  return rows.some(({ createdMs = 0, lastRestartMs = 0 }) => Math.max(createdMs, lastRestartMs) > sinceMs);
}

interface HeadCellProps {
  readonly column: Column;
  readonly order: Order;
  readonly onOrder: (order: Order) => void;
}

function HeadCell({ column: { className, name, of, sort }, onOrder, order }: HeadCellProps) {
  const title = of === undefined ? {} : { title: explanations[of].text };
  if (sort === undefined)
    return (
      <th role="columnheader" scope="col" class={className} {...title}>
        <span class="th-text">{name}</span>
      </th>
    );
  const isCurrent = order.by === sort;
  const next = isCurrent ? { by: sort, descending: !order.descending } : firstDirection(sort);
  return (
    <th
      role="columnheader"
      scope="col"
      class={className}
      {...title}
      aria-sort={isCurrent ? (order.descending ? 'descending' : 'ascending') : 'none'}
    >
      <button
        type="button"
        class="th-button"
        onClick={() => {
          onOrder(next);
        }}
      >
        {name}
        {isCurrent && <Icon name={order.descending ? 'down' : 'up'} />}
      </button>
    </th>
  );
}
