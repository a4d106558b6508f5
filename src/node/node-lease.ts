// Renews the lease by which the control plane detects that this node is alive.
// Invariants: the lease is created only with the node as its owner, so that it is garbage-collected with the node; creation
// is retried while the API server is unreachable; this component stops after all others.
// Upstream: component-helpers/apimachinery/lease, pkg/kubelet/util/nodelease.go.
import { leaseNamespace } from '../api/k8s/lease.ts';
import type { Lease, Node, OwnerReference } from '../api/k8s/types.ts';
import { untilAborted } from '../base/abort/race-abort.ts';
import type { Subscribable } from '../base/channel.ts';
import type { Clock } from '../base/clock.ts';
import { type Component, type LoopLoad, on } from '../base/component.ts';
import { describeError, isAbortOf, isKind, KubeletError } from '../base/errors.ts';
import { KeyedQueue } from '../base/keyed-queue.ts';
import type { Logger } from '../base/log/log.ts';

interface LeaseApi {
  get(signal: AbortSignal): Promise<Lease>;
  create(lease: Lease, signal: AbortSignal): Promise<Lease>;
  update(lease: Lease, signal: AbortSignal): Promise<Lease>;
  node(signal: AbortSignal): Promise<Node>;
}

interface NodeLeaseDeps {
  readonly api: LeaseApi;
  readonly nodeName: string;
  /** Read at each renewal; after a change call renew(). */
  readonly durationSeconds: number;
  /** A lease that waits for its owner is created as soon as the Node object appears. */
  readonly own: { get(): Node | undefined; readonly changed: Subscribable<void> };
  readonly random: () => number;
  /** Called when renewals fail repeatedly: the connections may be dead without an error. */
  readonly repeatedFailure: () => void;
  readonly clock: Clock;
  readonly log: Logger;
}

const renewFraction = 0.25;
const renewJitter = 0.04;
const maxUpdateAttempts = 5;
const ensureBackoff = { initialMs: 200, maxMs: 7_000 };

export class NodeLease implements Component {
  readonly name = 'node-lease';
  readonly #deps: NodeLeaseDeps;
  readonly #queue: KeyedQueue<'renew'>;
  #latest: Lease | undefined;
  #lastFailure = '';
  /** Monotonic time of the last renewal, or of the start before the first. */
  #renewedAtMs: number | undefined;

  constructor(deps: NodeLeaseDeps) {
    this.#deps = deps;
    this.#queue = new KeyedQueue<'renew'>({
      clock: deps.clock,
      parallel: 1,
      run: (_key, signal) => this.#run(signal),
      backoff: ensureBackoff,
      onError: (_key, err, retryInMs) =>
        this.#failed('Failed to ensure lease exists, will retry', err, retryInMs),
    });
  }

  get wakes() {
    return [on(this.#deps.own.changed, () => this.#nodeChanged())];
  }

  loopLoad(): LoopLoad {
    return this.#queue.load();
  }

  async start(signal: AbortSignal): Promise<{ readonly stopped: Promise<void> }> {
    this.#renewedAtMs = this.#deps.clock.monotonic();
    this.#queue.add('renew');
    this.#queue.start();
    return { stopped: this.#stopAfter(signal) };
  }

  /** Undefined if healthy. The control plane considers the node dead once its lease has expired. */
  health(): string | undefined {
    const { clock, durationSeconds } = this.#deps;
    if (this.#renewedAtMs === undefined) return 'the lease has not been requested yet';
    const ageMs = clock.monotonic() - this.#renewedAtMs;
    if (ageMs <= durationSeconds * 1000) return undefined;
    const why = this.#lastFailure === '' ? '' : `: ${this.#lastFailure}`;
    return `the node's lease has not been renewed for ${Math.round(ageMs / 1000)} s${why}`;
  }

  /** Renews the lease now. */
  renew(): void {
    this.#queue.addUnlessBackingOff('renew');
  }

  #nodeChanged(): void {
    const isWaiting = this.#latest === undefined && this.#lastFailure !== '';
    if (isWaiting && this.#deps.own.get() !== undefined) this.#queue.add('renew');
  }

  /** Rejects, and is retried with backoff, only while there is no lease to renew. */
  async #run(signal: AbortSignal): Promise<void> {
    if (this.#latest === undefined || !(await this.#update(this.#latest, signal))) await this.#ensure(signal);
    const renewMs = this.#deps.durationSeconds * 1000 * renewFraction;
    this.#queue.addAfter('renew', renewMs * (1 + renewJitter * this.#deps.random()));
  }

  async #ensure(signal: AbortSignal): Promise<void> {
    const { api } = this.#deps;
    this.#latest = undefined;
    let lease: Lease;
    try {
      lease = await api.get(signal);
    } catch (err) {
      if (!isKind(err, 'not-found')) throw err;
      this.#latest = await api.create(await this.#renewed(undefined, signal), signal);
      this.#succeeded();
      return;
    }
    await this.#update(lease, signal);
  }

  /** False if every attempt failed. */
  async #update(base: Lease, signal: AbortSignal): Promise<boolean> {
    const { api, repeatedFailure } = this.#deps;
    let latest = base;
    for (let attempt = 0; attempt < maxUpdateAttempts; attempt++) {
      try {
        this.#latest = await api.update(await this.#renewed(latest, signal), signal);
        this.#succeeded();
        return true;
      } catch (err) {
        if (isAbortOf(err, signal)) throw err;
        this.#failed('Failed to update lease', err, 0);
        if (isKind(err, 'not-found')) return false;
        if (isKind(err, 'conflict')) latest = await api.get(signal);
        // Any response, even an error, proves that the connection works.
        else if (attempt > 0 && (isKind(err, 'unavailable') || isKind(err, 'timeout'))) repeatedFailure();
      }
    }
    return false;
  }

  async #renewed(base: Lease | undefined, signal: AbortSignal): Promise<Lease> {
    const { clock, durationSeconds, nodeName } = this.#deps;
    const { metadata, spec, ...rest } = base ?? {};
    const owners = metadata?.ownerReferences ?? [];
    const ownerReferences = owners.length > 0 ? owners : [await this.#owner(signal)];
    return {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      ...rest,
      metadata: { name: nodeName, namespace: leaseNamespace, ...metadata, ownerReferences },
      spec: {
        holderIdentity: nodeName,
        ...spec,
        leaseDurationSeconds: durationSeconds,
        renewTime: microTime(clock.now()),
      },
    };
  }

  async #owner(signal: AbortSignal): Promise<OwnerReference> {
    const { api, nodeName } = this.#deps;
    const uid = (await api.node(signal)).metadata?.uid;
    if (uid === undefined) throw new KubeletError('internal', 'NoUID', `node ${nodeName} has no UID`);
    return { apiVersion: 'v1', kind: 'Node', name: nodeName, uid };
  }

  #succeeded(): void {
    if (this.#lastFailure !== '') this.#deps.log.info('Renewed lease after failures');
    this.#lastFailure = '';
    this.#renewedAtMs = this.#deps.clock.monotonic();
  }

  #failed(message: string, err: unknown, retryInMs: number): void {
    const { log } = this.#deps;
    const text = describeError(err);
    const fields = { retryInMs: Math.round(retryInMs), err };
    // A lease waits for its node: a node that does not exist yet is no error.
    if (text === this.#lastFailure || isKind(err, 'not-found')) log.v(2).info(message, fields);
    else log.error(message, fields);
    this.#lastFailure = text;
  }

  async #stopAfter(signal: AbortSignal): Promise<void> {
    await untilAborted(signal);
    this.#queue.abortAll();
    await this.#queue.stop();
  }
}

/** RFC 3339 with microseconds, as leases use it. */
function microTime(ms: number): string {
  return new Date(ms).toISOString().replace('Z', '000Z');
}
