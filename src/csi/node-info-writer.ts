// Writes what CSI drivers report into the Node and CSINode objects of this node.
// Invariants: one write at a time, so that drivers that register together do not overwrite each other; the object is read before
// every attempt; nothing is written that does not change; a CSINode that another Node owned is replaced.
// Upstream: pkg/volume/csi/nodeinfomanager.
import type { JsonObject } from '../api/k8s/strategic-diff.ts';
import type { CSINode, Node, StorageHealthCondition } from '../api/k8s/types.ts';
import type { Clock } from '../base/clock.ts';
import { describeError, type ErrorKind, isAbortOf, isKind, KubeletError } from '../base/errors.ts';
import type { Logger } from '../base/log/log.ts';
import { Slots } from '../base/slots.ts';
import {
  isOwnedBy,
  needsRemovalFirst,
  newCsiNode,
  withDriver,
  withMigratedPlugins,
  withoutDriver,
} from './csi-node-object.ts';
import type { DriverInfo } from './driver-info.ts';
import { driverPatch, driverRemovalPatch } from './node-object.ts';
import { withStorageHealth } from './storage-health.ts';

/** Every call has a deadline of its own. */
interface NodeInfoApi {
  node(signal: AbortSignal): Promise<Node>;
  /** A strategic merge patch of the status subresource. */
  patchNode(patch: JsonObject, signal: AbortSignal): Promise<Node>;
  /** The server may answer from its watch cache. */
  csiNodeFromCache(signal: AbortSignal): Promise<CSINode>;
  csiNode(signal: AbortSignal): Promise<CSINode>;
  createCsiNode(csiNode: CSINode, signal: AbortSignal): Promise<CSINode>;
  updateCsiNode(csiNode: CSINode, signal: AbortSignal): Promise<CSINode>;
  updateCsiNodeStatus(csiNode: CSINode, signal: AbortSignal): Promise<CSINode>;
  deleteCsiNode(uid: string | undefined, signal: AbortSignal): Promise<void>;
}

interface NodeInfoWriterDeps {
  readonly api: NodeInfoApi;
  readonly nodeName: string;
  readonly clock: Clock;
  readonly log: Logger;
  /** In [0, 1). */
  readonly random: () => number;
}

const attempts = 4;
const firstDelayMs = 10;
const delayFactor = 5;
const jitter = 0.1;
const timedOut = 'timed out waiting for the condition';

export class NodeInfoWriter {
  readonly #deps: NodeInfoWriterDeps;
  readonly #turn: Slots;
  /** Of the Node, when it was last read. */
  #nodeUid: string | undefined;

  constructor(deps: NodeInfoWriterDeps) {
    this.#deps = deps;
    this.#turn = new Slots({ clock: deps.clock, count: 1, leaseMs: Number.POSITIVE_INFINITY });
  }

  /** Ensures that CSINode exists, belongs to this Node and has the annotation of migrated plugins. Resolves to the Node's UID. */
  async initialize(signal: AbortSignal): Promise<string> {
    return await this.#retry('error updating CSINode annotation', signal, async () => {
      // Together, since a new node waits for them before it is reported Ready.
      const reads = [this.#readNodeUid(signal), this.#readCsiNode(signal)] as const;
      const [uid, existing] = await Promise.all(reads);
      const csiNode = await this.#adopt(existing, uid, signal);
      const annotated = withMigratedPlugins(csiNode);
      if (annotated !== csiNode) await this.#deps.api.updateCsiNode(annotated, signal);
      return uid;
    });
  }

  /** Adds the driver to both objects. `onWrite` is called before the first write. */
  async install(info: DriverInfo, signal: AbortSignal, onWrite: () => void = () => undefined): Promise<void> {
    const { api } = this.#deps;
    const onNode = 'error updating Node object with CSI driver node info: error updating node';
    await this.#retry(onNode, signal, async () => {
      const node = await api.node(signal);
      this.#nodeUid = node.metadata?.uid;
      const patch = driverPatch(node, info);
      if (patch === undefined) return;
      onWrite();
      await api.patchNode(patch, signal);
    });
    await this.#updateCsiNode(info, signal, onWrite);
  }

  /** Updates CSINode only. */
  async update(info: DriverInfo, signal: AbortSignal): Promise<void> {
    await this.#updateCsiNode(info, signal, () => undefined);
  }

  /** Removes the driver from both objects; its labels stay on the Node. */
  async uninstall(driver: string, signal: AbortSignal): Promise<void> {
    const { api } = this.#deps;
    const onCsiNode = 'error uninstalling CSI driver from CSINode object error updating CSINode';
    await this.#retry(onCsiNode, signal, async () => {
      const csiNode = await this.#readCsiNode(signal);
      if (csiNode === undefined) return;
      const without = withoutDriver(csiNode, driver);
      if (without !== csiNode) await api.updateCsiNode(without, signal);
    });
    const onNode = 'error removing CSI driver node info from Node object error updating node';
    await this.#retry(onNode, signal, async () => {
      // differs from upstream, which fails: a Node that was deleted has nothing left to remove.
      const node = await orUndefined(api.node(signal));
      const patch = node && driverRemovalPatch(node, driver);
      if (patch !== undefined) await api.patchNode(patch, signal);
    });
  }

  /** Replaces the conditions of the driver's storage in CSINode's status. */
  async updateHealth(
    driver: string,
    conditions: readonly StorageHealthCondition[],
    signal: AbortSignal,
  ): Promise<void> {
    const { api, clock } = this.#deps;
    await this.#retry('error updating CSINode status', signal, async () => {
      const csiNode = await this.#ownCsiNode(signal);
      const now = `${new Date(clock.now()).toISOString().slice(0, 19)}Z`;
      const updated = withStorageHealth(csiNode, driver, conditions, now);
      if (updated !== csiNode) await api.updateCsiNodeStatus(updated, signal);
    });
  }

  async #updateCsiNode(info: DriverInfo, signal: AbortSignal, onWrite: () => void): Promise<void> {
    const { api } = this.#deps;
    const what = 'error updating CSINode object with CSI driver node info: error updating CSINode';
    await this.#retry(what, signal, async () => {
      let csiNode = await this.#ownCsiNode(signal);
      if (withDriver(csiNode, info) === csiNode) return;
      onWrite();
      // differs from upstream: there the update is rejected, and the driver is removed until its registration is retried.
      if (needsRemovalFirst(csiNode, info))
        csiNode = await api.updateCsiNode(withoutDriver(csiNode, info.driver), signal);
      await api.updateCsiNode(withDriver(csiNode, info), signal);
    });
  }

  async #readNodeUid(signal: AbortSignal): Promise<string> {
    const { metadata } = await this.#deps.api.node(signal);
    this.#nodeUid = metadata?.uid;
    return metadata?.uid ?? '';
  }

  #readCsiNode(signal: AbortSignal): Promise<CSINode | undefined> {
    return orUndefined(this.#deps.api.csiNode(signal));
  }

  async #ownCsiNode(signal: AbortSignal): Promise<CSINode> {
    const existing = await this.#readCsiNode(signal);
    if (existing !== undefined && isOwnedBy(existing, this.#deps.nodeName, this.#nodeUid ?? ''))
      return existing;
    // The Node may have been created again since it was last read.
    return await this.#adopt(existing, await this.#readNodeUid(signal), signal);
  }

  /** The existing object if this Node owns it, or else a new one. */
  async #adopt(existing: CSINode | undefined, nodeUid: string, signal: AbortSignal): Promise<CSINode> {
    const { api, log, nodeName } = this.#deps;
    if (existing !== undefined) {
      if (isOwnedBy(existing, nodeName, nodeUid)) return existing;
      log.info('Replacing the CSINode of another Node', { node: nodeName, nodeUid });
      await orUndefined(api.deleteCsiNode(existing.metadata?.uid, signal));
    }
    return await api.createCsiNode(newCsiNode(nodeName, nodeUid), signal);
  }

  /** Four attempts, one at a time over all callers. */
  async #retry<T>(what: string, signal: AbortSignal, attempt: () => Promise<T>): Promise<T> {
    const { clock, random } = this.#deps;
    const failures: string[] = [];
    for (let delayMs = firstDelayMs; ; delayMs *= delayFactor) {
      try {
        return await this.#alone(attempt, signal);
      } catch (err) {
        if (isAbortOf(err, signal)) throw err;
        failures.push(describeError(err));
        if (failures.length === attempts || isPointless(err)) throw failed(what, failures, err);
        await clock.sleep(delayMs * (1 + jitter * random()), signal);
      }
    }
  }

  async #alone<T>(attempt: () => Promise<T>, signal: AbortSignal): Promise<T> {
    const turn = await this.#turn.acquire(0, signal);
    try {
      return await attempt();
    } finally {
      turn.release();
    }
  }
}

/** After a conflict of labels, a rejected object or a hanging API server the next attempt would end the same. */
function isPointless(err: unknown): boolean {
  return isKind(err, 'invalid') || isKind(err, 'timeout');
}

function failed(what: string, failures: readonly string[], cause: unknown): KubeletError {
  const distinct = [...new Set(failures)];
  const [only = ''] = distinct;
  const causes = distinct.length === 1 ? only : `[${distinct.join(', ')}]`;
  const kind: ErrorKind = cause instanceof KubeletError ? cause.kind : 'internal';
  const reason = cause instanceof KubeletError ? cause.reason : 'NodeInfoNotWritten';
  return new KubeletError(kind, reason, `${what}: ${timedOut}; caused by: ${causes}`, { cause });
}

async function orUndefined<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (err) {
    if (isKind(err, 'not-found')) return undefined;
    throw err;
  }
}
