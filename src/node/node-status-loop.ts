// Registers the node and keeps its status up to date. A loop with one key and a timer.
// Invariants: the node is registered once per process, so a deleted node stays deleted until the kubelet restarts; the status
// is written on a change, and otherwise every reportMs; static pods do not wait for it. What the server drops is not sent again.
// Upstream: registerWithAPIServer, syncNodeStatus and fastNodeStatusUpdate in pkg/kubelet/kubelet_node_status.go.

import { isNodeReady } from '../api/k8s/node-ready.ts';
import { laterObject } from '../api/k8s/resource-version.ts';
import type { JsonObject } from '../api/k8s/strategic-diff.ts';
import type { Node } from '../api/k8s/types.ts';
import type { EventSink, EventText } from '../api/ports/events.ts';
import { untilAborted } from '../base/abort/race-abort.ts';
import type { Subscribable } from '../base/channel.ts';
import type { Clock } from '../base/clock.ts';
import { type Component, type LoopLoad, on } from '../base/component.ts';
import { describeError, isAbortOf, isKind, KubeletError } from '../base/errors.ts';
import { KeyedQueue } from '../base/keyed-queue.ts';
import type { Logger } from '../base/log/log.ts';
import { generateInitialNode, generateNode, statusEvent } from './generate-node.ts';
import type { NodeFacts } from './node-facts.ts';
import { nodeHasChanged, nodeStatusPatch } from './node-patch.ts';
import type { NodeSettings } from './node-settings.ts';
import { reconcileNode } from './reconcile-node.ts';

interface NodeApi {
  get(signal: AbortSignal): Promise<Node>;
  create(node: Node, signal: AbortSignal): Promise<Node>;
  /** A strategic merge patch of the status subresource. */
  patchStatus(patch: JsonObject, signal: AbortSignal): Promise<Node>;
}

interface NodeStatusDeps {
  readonly api: NodeApi;
  readonly own: {
    get(): Node | undefined;
    readonly changed: Subscribable<void>;
  };
  readonly facts: {
    gather(signal: AbortSignal): Promise<NodeFacts>;
    /** The node's status with these facts was written. `node`: the API server's response. */
    reported?(facts: NodeFacts, node: Node): void;
    /** Announced when the runtime turns ready or not ready. */
    readonly changed: Subscribable<void>;
  };
  readonly settings: NodeSettings;
  /** Read at each turn. */
  readonly timing: { readonly updateMs: number; readonly reportMs: number; readonly random: () => number };
  readonly report: {
    readonly events: Pick<EventSink, 'node'>;
    /** Before every attempt to register or update the node. */
    attempting?(): void;
    /** Heartbeats fail repeatedly: the connections may be dead without an error. */
    repeatedFailure(): void;
  };
  readonly clock: Clock;
  readonly log: Logger;
}

const registerBackoff = { initialMs: 200, maxMs: 7_000 };
const maxUpdateAttempts = 5;
const updateJitter = 0.04;

export class NodeStatusLoop implements Component {
  readonly name = 'node-status';
  readonly #deps: NodeStatusDeps;
  readonly #queue: KeyedQueue<'status'>;
  #registered = false;
  /** The API server's response to the last write; the watch may not have it yet. */
  #written: Node | undefined;
  /** The node as generated for the last write. An API server of an earlier release drops fields from it. */
  #sent: Node | undefined;
  #reportedAtMs: number | undefined;
  /** In parts of reportMs, which may change meanwhile. */
  #reportOffset = 0;
  #wasUnschedulable = false;
  #rebootEmitted = false;
  #lastFailure = '';

  constructor(deps: NodeStatusDeps) {
    this.#deps = deps;
    this.#queue = new KeyedQueue<'status'>({
      clock: deps.clock,
      parallel: 1,
      run: (_key, signal) => this.#run(signal),
      backoff: registerBackoff,
      onError: (_key, err, retryInMs) => this.#failed('Failed to register node', err, retryInMs),
    });
  }

  get wakes() {
    const { facts, own } = this.#deps;
    return [on(own.changed, () => this.#onWatch()), on(facts.changed, () => this.poke())];
  }

  loopLoad(): LoopLoad {
    return this.#queue.load();
  }

  /** Does not wait for the API server. */
  async start(signal: AbortSignal): Promise<{ readonly stopped: Promise<void> }> {
    this.#queue.add('status');
    this.#queue.start();
    return { stopped: this.#stopAfter(signal) };
  }

  /** The status may have changed. Cheap, idempotent, safe from anywhere. */
  poke(): void {
    // After a failure only the backoff retries: changes must not add load on an unreachable API server.
    if (this.#lastFailure === '') this.#queue.add('status');
  }

  #onWatch(): void {
    const node = this.#deps.own.get();
    if (node === undefined) {
      this.#written = undefined;
      return;
    }
    const unschedulable = node.spec?.unschedulable === true;
    if (unschedulable === this.#wasUnschedulable) return;
    this.#wasUnschedulable = unschedulable;
    this.#emit(
      statusEvent(this.#deps.settings.nodeName, unschedulable ? 'NodeNotSchedulable' : 'NodeSchedulable'),
    );
  }

  async #run(signal: AbortSignal): Promise<void> {
    const { settings, timing } = this.#deps;
    if (settings.registerNode && !this.#registered) await this.#register(signal);
    try {
      await this.#update(signal);
    } finally {
      this.#queue.addAfter('status', timing.updateMs * (1 + updateJitter * timing.random()));
    }
  }

  async #register(signal: AbortSignal): Promise<void> {
    const { api, clock, log, settings } = this.#deps;
    const facts = await this.#gather(signal);
    const initial = generateInitialNode(settings, facts, clock.now());
    log.v(1).info('Attempting to register node', { node: settings.nodeName });
    try {
      this.#written = await api.create(initial.node, signal);
      this.#sent = initial.node;
      this.#reportedAtMs = clock.monotonic();
      for (const event of initial.events) this.#emit(event);
    } catch (err) {
      if (!this.#mayExist(err)) throw err;
      await this.#reconcile(initial.node, facts.resources.resetExtendedResources?.() ?? false, signal);
    }
    this.#registered = true;
    this.#lastFailure = '';
    log.info('Successfully registered node', { node: settings.nodeName });
  }

  /** As upstream, a forbidden creation does not mean that another party has not created the node. */
  #mayExist(err: unknown): boolean {
    if (!(err instanceof KubeletError)) return false;
    if (err.reason === 'AlreadyExists') return true;
    return err.kind === 'forbidden' && err.details['code'] === 403 && !this.#deps.settings.getsOnExistsOnly;
  }

  async #reconcile(initial: Node, resetExtended: boolean, signal: AbortSignal): Promise<void> {
    const { api, log, settings } = this.#deps;
    const existing = await api.get(signal);
    log.info('Node was previously registered', { node: settings.nodeName });
    const patch = nodeStatusPatch(existing, reconcileNode(existing, initial, resetExtended));
    this.#written = patch === undefined ? existing : await api.patchStatus(patch, signal);
  }

  async #update(signal: AbortSignal): Promise<void> {
    for (let attempt = 0; attempt < maxUpdateAttempts; attempt++) {
      try {
        await this.#tryUpdate(attempt, signal);
        if (this.#lastFailure !== '') this.#deps.log.info('Reported node status after failures');
        this.#lastFailure = '';
        return;
      } catch (err) {
        if (isAbortOf(err, signal)) throw err;
        this.#failed('Error updating node status, will retry', err, this.#deps.timing.updateMs);
        if (attempt > 0 && isUnreachable(err)) this.#deps.report.repeatedFailure();
        // An immediate retry cannot restore a deleted node.
        if (isKind(err, 'not-found')) return;
      }
    }
  }

  async #tryUpdate(attempt: number, signal: AbortSignal): Promise<void> {
    const { api, clock, log, own, settings } = this.#deps;
    const watched = own.get();
    const cached = watched === undefined ? this.#written : laterObject(watched, this.#written);
    const before = attempt > 0 || cached === undefined ? await api.get(signal) : cached;
    const gathered = await this.#gather(signal);
    const generated = generateNode(before, settings, gathered, clock.now());
    for (const problem of generated.problems) log.error('Failed to set some node status fields', { problem });
    const changed = nodeHasChanged(before, generated.node) && !this.#wasSent(before, generated.node);
    if (!changed && !this.#isReportDue()) {
      this.#deps.facts.reported?.(gathered, before);
      return;
    }
    this.#planReport(changed);
    const patch = nodeStatusPatch(before, generated.node);
    const written = patch === undefined ? before : await api.patchStatus(patch, signal);
    this.#written = written;
    this.#sent = generated.node;
    this.#reportedAtMs = clock.monotonic();
    this.#deps.facts.reported?.(gathered, written);
    for (const event of generated.events) this.#emit(event);
    if (isNodeReady(written) && !isNodeReady(before)) log.info('Node is ready');
  }

  /** Whether this node was already sent, and the API server still has what it made of it: sending it again changes nothing. */
  #wasSent(before: Node, generated: Node): boolean {
    if (this.#sent === undefined || this.#written === undefined) return false;
    return !nodeHasChanged(this.#written, before) && !nodeHasChanged(this.#sent, generated);
  }

  async #gather(signal: AbortSignal): Promise<NodeFacts> {
    const { facts, report } = this.#deps;
    report.attempting?.();
    return await facts.gather(signal);
  }

  #isReportDue(): boolean {
    if (this.#reportedAtMs === undefined) return true;
    const { clock, timing } = this.#deps;
    return clock.monotonic() - this.#reportedAtMs >= timing.reportMs * (1 + this.#reportOffset);
  }

  /** After a change the next periodic report is randomised, so that the nodes of a cluster do not report together. */
  #planReport(changed: boolean): void {
    const isRandom = changed || this.#reportedAtMs === undefined;
    this.#reportOffset = isRandom ? this.#deps.timing.random() - 0.5 : 0;
  }

  #emit(event: EventText): void {
    if (event.reason === 'Rebooted') {
      if (this.#rebootEmitted) return;
      this.#rebootEmitted = true;
    }
    this.#deps.log.v(2).info('Recording event message for node', { event: event.reason });
    this.#deps.report.events.node(event);
  }

  #failed(message: string, err: unknown, retryInMs: number): void {
    const { log } = this.#deps;
    const text = describeError(err);
    const fields = { retryInMs: Math.round(retryInMs), err };
    if (text === this.#lastFailure) log.v(2).info(message, fields);
    else log.error(message, fields);
    this.#lastFailure = text;
  }

  async #stopAfter(signal: AbortSignal): Promise<void> {
    await untilAborted(signal);
    this.#queue.abortAll();
    await this.#queue.stop();
  }
}

/** Any response, even an error, proves that the connection works. */
function isUnreachable(err: unknown): boolean {
  return isKind(err, 'unavailable') || isKind(err, 'timeout');
}
