// Faults that a test orders: calls that fail, hang or take time, events that get lost, a runtime that restarts.
// Invariant: rules are used in the order they were given, each as many times as it was told.

import type {
  ImageServiceDefinition,
  RuntimeServiceDefinition,
} from '../../src/api/cri/generated/runtime/v1/api.ts';
import type { CriImagesMethod, CriRuntimeMethod } from '../../src/api/cri/runtime.ts';
import type { KubeletError } from '../../src/base/errors.ts';

type Methods = RuntimeServiceDefinition['methods'] & ImageServiceDefinition['methods'];
type Message<T> = T extends { create(...args: never[]): infer M } ? M : never;

export type CriMethodName = CriRuntimeMethod | CriImagesMethod;
export type RequestOf<K extends CriMethodName> = Message<Methods[K]['requestType']>;
export type ResponseOf<K extends CriMethodName> = Message<Methods[K]['responseType']>;

interface FaultOptions<Request> {
  /** How many calls it hits; one unless told. */
  readonly times?: number;
  readonly match?: (request: Request) => boolean;
  /** Before the runtime acts, or after it has acted and before it answers: the answer that gets lost. */
  readonly when?: 'before' | 'after';
}

export interface Stall {
  /** Lets the calls that wait here go on, and those to come pass. */
  release(): void;
  /** How many calls wait here now. */
  readonly waiting: number;
}

interface Rule {
  readonly method: CriMethodName;
  readonly when: 'before' | 'after';
  readonly match: (request: unknown) => boolean;
  readonly act: () => Promise<void>;
  left: number;
}

/** What the faults need of the runtime. */
interface FaultTarget {
  goDown(): void;
  comeUp(): void;
  loseEvents(lost: boolean): void;
  after(ms: number, fn: () => void): void;
}

export class Faults {
  readonly #target: FaultTarget;
  readonly #rules: Rule[] = [];
  readonly #latencyMs = new Map<CriMethodName, number>();

  constructor(target: FaultTarget) {
    this.#target = target;
  }

  /** The next calls of this method fail. Returns the way to take the order back. */
  fail<K extends CriMethodName>(
    method: K,
    error: KubeletError,
    options: FaultOptions<RequestOf<K>> = {},
  ): { remove(): void } {
    const rule = this.#add(method, options, () => Promise.reject(error));
    return { remove: () => this.#remove(rule) };
  }

  /** The next calls of this method hang until they are released or given up. */
  stall<K extends CriMethodName>(method: K, options: FaultOptions<RequestOf<K>> = {}): Stall {
    const waiting = new Set<() => void>();
    const wait = (): Promise<void> =>
      new Promise((resolve) => {
        waiting.add(resolve);
      });
    const rule = this.#add(method, options, wait);
    return {
      release: () => {
        this.#remove(rule);
        for (const resolve of waiting) resolve();
        waiting.clear();
      },
      get waiting() {
        return waiting.size;
      },
    };
  }

  /** Every call of this method takes so long before the runtime acts. */
  latency(method: CriMethodName, ms: number): void {
    this.#latencyMs.set(method, ms);
  }

  latencyOf(method: CriMethodName): number {
    return this.#latencyMs.get(method) ?? 0;
  }

  /** Events that happen from now on are not delivered, and not kept either. */
  loseEvents(): { restore(): void } {
    this.#target.loseEvents(true);
    return { restore: () => this.#target.loseEvents(false) };
  }

  /** The runtime goes away, cutting calls and streams, and is back after a while. Containers run on. */
  restart(options: { readonly downMs: number }): void {
    this.down();
    this.#target.after(options.downMs, () => this.up());
  }

  down(): void {
    this.#target.goDown();
  }

  up(): void {
    this.#target.comeUp();
  }

  /** Carries out what was ordered for this call, if anything was. */
  async apply(method: CriMethodName, request: unknown, when: 'before' | 'after'): Promise<void> {
    const rule = this.#rules.find(
      (each) => each.method === method && each.when === when && each.match(request),
    );
    if (rule === undefined) return;
    rule.left--;
    if (rule.left <= 0) this.#remove(rule);
    await rule.act();
  }

  #add<K extends CriMethodName>(
    method: K,
    options: FaultOptions<RequestOf<K>>,
    act: () => Promise<void>,
  ): Rule {
    const match = (options.match ?? (() => true)) as (request: unknown) => boolean;
    const rule: Rule = { method, when: options.when ?? 'before', match, act, left: options.times ?? 1 };
    this.#rules.push(rule);
    return rule;
  }

  #remove(rule: Rule): void {
    const index = this.#rules.indexOf(rule);
    if (index >= 0) this.#rules.splice(index, 1);
  }
}
