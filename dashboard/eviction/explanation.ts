// The answer of GET /explain/eviction (src/eviction/dry-run.ts), as far as the page shows it, and its figures in words.
import { bytes, count } from '../text/format.ts';

export interface SignalEntry {
  readonly signal: string;
  readonly available?: number;
  readonly capacity?: number;
  readonly thresholds: readonly {
    readonly quantity: string;
    readonly kind: 'hard' | 'soft';
    readonly graceSeconds: number;
    readonly met: boolean;
  }[];
}

export interface OrderEntry {
  readonly resource: string;
  readonly signals: readonly string[];
  readonly pods: readonly {
    readonly pod: string;
    readonly uid: string;
    readonly evictable: boolean;
    readonly usage?: number;
    readonly request: number;
    readonly priority: number;
    readonly why: string;
  }[];
}

export interface EvictionExplanation {
  readonly explanation: string;
  readonly conditions: readonly string[];
  readonly memory: {
    readonly source: string;
    readonly workingSetAvailableBytes?: number;
    readonly kernelAvailableBytes?: number;
  };
  readonly signals: readonly SignalEntry[];
  readonly overStorageLimit: readonly { readonly pod: string; readonly uid: string; readonly why: string }[];
  readonly order: readonly OrderEntry[];
}

/** Signals of inodes and process IDs count, the others are bytes. */
export function signalFormat(signal: string): (value: number | undefined) => string {
  const isCount = signal.endsWith('inodesFree') || signal.startsWith('pid');
  return isCount ? (value) => (value === undefined ? '–' : count(value)) : bytes;
}

export function resourceFormat(resource: string): (value: number | undefined) => string {
  return signalFormat(resource.startsWith('inodes') ? 'inodesFree' : resource.startsWith('pid') ? 'pid' : '');
}

const suffixes: Readonly<Record<string, number>> = {
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
  Pi: 2 ** 50,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  P: 1e15,
};

/** A quantity of Kubernetes as a number; undefined if it is none. */
export function quantityValue(quantity: string): number | undefined {
  const suffix = Object.keys(suffixes).find((each) => quantity.endsWith(each)) ?? '';
  const digits = suffix === '' ? quantity : quantity.slice(0, -suffix.length);
  const value = Number(digits) * (suffixes[suffix] ?? 1);
  return digits.trim() === '' || Number.isNaN(value) ? undefined : value;
}

/** `namespace/name`; a name has no slash. */
export function splitPod(pod: string): { readonly namespace: string; readonly name: string } {
  const at = pod.indexOf('/');
  return { namespace: pod.slice(0, Math.max(0, at)), name: pod.slice(at + 1) };
}
