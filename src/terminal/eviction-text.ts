// The report of `kubelet explain --eviction`. Pure. Texts are safe already.
import { bytesText } from './amounts.ts';
import { paint, type Screen } from './style.ts';
import { formatTable } from './table.ts';

/** Of GET /explain/eviction. */
export interface EvictionAnswer {
  readonly explanation: string;
  readonly signals: readonly {
    readonly signal: string;
    readonly available?: number;
    readonly capacity?: number;
    readonly thresholds: readonly {
      readonly quantity: string;
      readonly kind: string;
      readonly graceSeconds: number;
      readonly met: boolean;
    }[];
  }[];
  readonly overStorageLimit?: readonly { readonly pod: string; readonly why: string }[];
  readonly order: readonly {
    readonly resource: string;
    readonly signals: readonly string[];
    readonly pods: readonly { readonly pod: string; readonly evictable: boolean; readonly why: string }[];
  }[];
}

export function evictionText(answer: EvictionAnswer, screen: Screen): readonly string[] {
  const heading = (text: string): readonly string[] => ['', paint(text, 'heading', screen)];
  const over = answer.overStorageLimit ?? [];
  return [
    answer.explanation,
    ...heading('SIGNALS'),
    ...signalLines(answer, screen),
    ...(over.length === 0 ? [] : heading('OVER THEIR STORAGE LIMIT')),
    ...(over.length === 0
      ? []
      : formatTable(
          ['POD', 'WHY'],
          over.map(({ pod, why }) => [pod, why]),
          screen,
        )),
    ...answer.order.flatMap(({ pods, resource, signals }) => [
      ...heading(`ORDER FOR ${resource} (${signals.join(', ')})`),
      ...orderLines(pods, screen),
    ]),
  ];
}

function signalLines({ signals }: EvictionAnswer, screen: Screen): readonly string[] {
  const rows = signals.flatMap(({ available, capacity, signal, thresholds }) =>
    thresholds.map(({ graceSeconds, kind, met, quantity }) => [
      signal,
      amount(signal, available),
      amount(signal, capacity),
      `< ${amount(signal, numberOf(quantity)) || quantity}`,
      kind === 'soft' ? `soft, ${graceSeconds}s` : kind,
      { text: met ? 'met' : 'not met', tone: met ? ('bad' as const) : ('good' as const) },
    ]),
  );
  return formatTable(['SIGNAL', 'AVAILABLE', 'CAPACITY', 'THRESHOLD', 'KIND', 'STATE'], rows, screen);
}

function numberOf(quantity: string): number | undefined {
  return /^\d{1,18}$/.test(quantity) ? Number(quantity) : undefined;
}

/** Inodes and processes are counted, everything else is in bytes. */
function amount(signal: string, value: number | undefined): string {
  if (value === undefined) return '';
  return /inodes|pid/.test(signal) ? String(value) : bytesText(value);
}

function orderLines(pods: EvictionAnswer['order'][number]['pods'], screen: Screen): readonly string[] {
  if (pods.length === 0) return ['no pods'];
  const rows = pods.map(({ evictable, pod, why }, at) => [
    String(at + 1),
    pod,
    evictable ? 'yes' : 'no',
    why,
  ]);
  return formatTable(['#', 'POD', 'EVICTABLE', 'WHY'], rows, screen);
}
