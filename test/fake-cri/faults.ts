// Faults injected by tests: calls that fail, hang or take time, dropped events, a runtime that restarts.
// Invariant: rules apply in the order in which they were added, each for its number of times.

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
  /** How many calls it affects. Default: 1. */
  readonly times?: number;
  readonly match?: (request: Request) => boolean;
  /** Before the runtime acts, or after it has acted and before it responds (a lost response). */
  readonly when?: 'before' | 'after';
}

export interface Stall {
  /** Lets the waiting calls proceed, and later ones pass. */
  release(): void;
  /** How many calls are waiting now. */
  readonly waiting: number;
}

interface Rule {
  readonly method: CriMethodName;
  readonly when: 'before' | 'after';
  readonly match: (request: unknown) => boolean;
  readonly act: () => Promise<void>;
  left: number;
}

/** The runtime, as faults need it. */
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

  /** Makes the next calls of this method fail, until the returned rule is removed. */
  fail<K extends CriMethodName>(
    method: K,
    error: KubeletError,
    options: FaultOptions<RequestOf<K>> = {},
  ): { remove(): void } {
    const rule = this.#add(method, options, () => Promise.reject(error));
    return { remove: () => this.#remove(rule) };
  }

  /** Makes the next calls of this method hang until they are released or aborted. */
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

  /** Delays every call of this method before the runtime acts. */
  latency(method: CriMethodName, ms: number): void {
    this.#latencyMs.set(method, ms);
  }

  latencyOf(method: CriMethodName): number {
    return this.#latencyMs.get(method) ?? 0;
  }

  /** Drops all events until `restore` is called. */
  loseEvents(): { restore(): void } {
    this.#target.loseEvents(true);
    return { restore: () => this.#target.loseEvents(false) };
  }

  /** Stops the runtime, cutting calls and streams, and starts it after `downMs`. Containers keep running. */
  restart(options: { readonly downMs: number }): void {
    this.goDown();
    this.#target.after(options.downMs, () => this.comeUp());
  }

  goDown(): void {
    this.#target.goDown();
  }

  comeUp(): void {
    this.#target.comeUp();
  }

  /** Applies the first rule that matches this call, if any. */
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
