// Faults on order, for tests: a control file lists the orders, and every call reads it again. The uses of an order are
// counted in a file beside it, so that a driver that was ordered to die once does not die again when it is restarted.
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { CallError, type Code, RawBytes } from './grpc.ts';

export interface FaultOrder {
  /** Unique over the life of the control file; counts the uses. */
  readonly id: number;
  /** Such as NodePublishVolume or GetInfo; `*` is every method. */
  readonly method: string;
  /** Only calls for this volume. */
  readonly volume?: string;
  /** Default: without limit. */
  readonly times?: number;
  /** The order is ignored after this time of the wall clock. */
  readonly untilMs?: number;
  /** Whether the fault comes before or after the work. Default: before. */
  readonly when?: 'before' | 'after';
  /** Waits so long, or until the order is removed; then the call continues, even if its client has given up. */
  readonly hang?: true | number;
  /** Ends the process. */
  readonly die?: true;
  /** Fails the call. */
  readonly code?: Code;
  readonly message?: string;
  /** Appends the secrets of the request to the message, as a careless driver does. */
  readonly echoSecrets?: true;
  /** Fields that replace those of the response. */
  readonly answer?: Readonly<Record<string, unknown>>;
  /** Answers bytes that are no message. */
  readonly garbage?: true;
  /** NodePublishVolume makes the target a symbolic link to this path instead of mounting anything. */
  readonly linkTarget?: string;
}

export interface FaultControl {
  readonly orders: readonly FaultOrder[];
}

const pollMs = 20;

function readJson<T>(path: string, otherwise: T): T {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as T;
  } catch {
    return otherwise;
  }
}

export class Faults {
  readonly #control: string;

  constructor(control: string) {
    this.#control = control;
  }

  #orders(): readonly FaultOrder[] {
    return readJson<FaultControl>(this.#control, { orders: [] }).orders;
  }

  /** The order that this call follows; counts as one use of it. */
  take(method: string, volume: string | undefined): FaultOrder | undefined {
    const orders = this.#orders();
    if (orders.length === 0) return undefined;
    const path = `${this.#control}.used`;
    const used = readJson<Record<string, number>>(path, {});
    const found = computeOrder(orders, { method, volume, used, nowMs: Date.now() });
    if (found === undefined) return undefined;
    writeFileSync(`${path}.new`, JSON.stringify({ ...used, [found.id]: (used[found.id] ?? 0) + 1 }));
    renameSync(`${path}.new`, path);
    return found;
  }

  /** Applies the order at this point of the call. */
  async apply(order: FaultOrder | undefined, at: 'before' | 'after', request: unknown): Promise<void> {
    if (order === undefined || (order.when ?? 'before') !== at) return;
    if (order.hang !== undefined) await this.#hang(order);
    if (order.die) process.exit(1);
    if (order.code !== undefined) throw new CallError(order.code, messageOf(order, request));
  }

  async #hang({ id, hang }: FaultOrder): Promise<void> {
    const endMs = typeof hang === 'number' ? performance.now() + hang : Number.POSITIVE_INFINITY;
    while (performance.now() < endMs && this.#orders().some((order) => order.id === id)) {
      await sleep(Math.min(pollMs, Math.max(1, endMs - performance.now())));
    }
  }
}

interface CallFacts {
  readonly method: string;
  readonly volume: string | undefined;
  readonly used: Readonly<Record<string, number>>;
  readonly nowMs: number;
}

/** The first order that applies to the call. */
export function computeOrder(orders: readonly FaultOrder[], call: CallFacts): FaultOrder | undefined {
  return orders.find(
    (order) =>
      (order.method === '*' || order.method === call.method) &&
      (order.volume === undefined || order.volume === call.volume) &&
      (order.untilMs === undefined || call.nowMs < order.untilMs) &&
      (order.times === undefined || (call.used[order.id] ?? 0) < order.times),
  );
}

function messageOf({ message = 'fails on order', echoSecrets }: FaultOrder, request: unknown): string {
  if (!echoSecrets) return message;
  const { secrets = {} } = request as { readonly secrets?: unknown };
  return `${message}: request was ${JSON.stringify(secrets)}`;
}

/** The response that the order makes of the driver's own. */
export function alterResponse(order: FaultOrder | undefined, response: object): unknown {
  // A varint without an end.
  if (order?.garbage) return new RawBytes(Buffer.from('ff'.repeat(16), 'hex'));
  return order?.answer === undefined ? response : { ...response, ...order.answer };
}
