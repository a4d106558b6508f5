// Has the plugins choose and allocate what admission reserved, and hands the result to the runtime.
// Upstream: allocateContainerResources and GetDeviceRunContainerOptions in pkg/kubelet/cm/devicemanager/manager.go.
// Invariants: after every wait the reservation is checked, since the pod may have been released; a pod is committed, and a
// container created, only when its devices are in the checkpoint.
import type { Container, Pod } from '../../api/k8s/types.ts';
import type { ContainerAllocateResponse } from '../../api/kubelet/generated/deviceplugin/v1beta1/api.ts';
import { initAndRegularContainers } from '../../api/pod/find-container.ts';
import { type PodUid, podRef, podUid } from '../../api/pod/pod-ref.ts';
import type { DeviceGrants } from '../../api/ports/exclusive-resources.ts';
import type { PodActivity } from '../../api/ports/pod-activity.ts';
import { raceAbort } from '../../base/abort/race-abort.ts';
import type { Clock } from '../../base/clock.ts';
import { describeError, isAbortOf } from '../../base/errors.ts';
import { InFlight } from '../../base/in-flight.ts';
import type { Logger } from '../../base/log/log.ts';
import { computeResponseFault } from './allocate-response.ts';
import { type ConnectedPlugin, endpointStopped, rpcFailed } from './connected-plugin.ts';
import { devicesAnnotation, formatDevicesAnnotation } from './device-annotation.ts';
import { computeGrants } from './device-grants.ts';
import type { DeviceInventory } from './device-inventory.ts';
import type { PodsView } from './device-records.ts';
import { containerDeviceRequests } from './device-requests.ts';
import { type DeviceReservations, rejected } from './device-reservations.ts';
import { answered, type HeldDevices, type Holding } from './held-devices.ts';
import type { PluginConnections } from './plugin-connections.ts';

interface Rejection {
  readonly reason: string;
  readonly message: string;
}

interface DeviceCommitsDeps {
  readonly clock: Pick<Clock, 'monotonic' | 'now'>;
  readonly log: Logger;
  readonly inventory: Pick<DeviceInventory, 'get'>;
  readonly held: HeldDevices;
  readonly reservations: DeviceReservations;
  readonly plugins: Pick<PluginConnections, 'serving' | 'last'>;
  readonly pods: Pick<PodsView, 'isActive'>;
  readonly checkpoint: { save(): void; saved(): Promise<void> };
  readonly metrics: { allocated(resource: string, seconds: number): void };
}

export class DeviceCommits {
  readonly #deps: DeviceCommitsDeps;
  readonly #inFlight = new InFlight<PodActivity>();

  constructor(deps: DeviceCommitsDeps) {
    this.#deps = deps;
  }

  /** The calls to plugins that the pod is waiting for. */
  activities(uid: PodUid): readonly PodActivity[] {
    return this.#inFlight.activities(uid);
  }

  #during<T>(uid: PodUid, what: string, call: () => Promise<T>): Promise<T> {
    return this.#inFlight.during(uid, { what, sinceMs: this.#deps.clock.now() }, call);
  }

  /** Asks the plugins about everything that is only reserved. Undefined if the pod may start. Rejects on abort. */
  async commit(pod: Pod, signal: AbortSignal): Promise<Rejection | undefined> {
    try {
      let isNew = false;
      for (const container of initAndRegularContainers(pod))
        for (const [resource] of containerDeviceRequests(pod, container))
          if (await this.#commitOne(pod, container, resource, { signal, isCreating: false })) isNew = true;
      // A pod that keeps what it has is not rejected because the disk is full.
      if (isNew) await this.#saved(podUid(pod), signal);
      return undefined;
    } catch (err) {
      if (isAbortOf(err, signal)) throw err;
      const message = `Allocate failed due to ${describeError(err)}, which is unexpected`;
      return { reason: 'UnexpectedAdmissionError', message };
    }
  }

  async grants(pod: Pod, container: Container, signal: AbortSignal): Promise<DeviceGrants> {
    const { held, log, pods, reservations } = this.#deps;
    const uid = podUid(pod);
    const requests = containerDeviceRequests(pod, container).filter(([resource]) =>
      reservations.isKnown(resource),
    );
    // differs from upstream, which calls PreStartContainer first and so fails a container without an allocation.
    if (pods.isActive(uid))
      for (const [resource, count] of requests) {
        if (held.get({ uid, container: container.name, resource }) === undefined)
          reservations.reserveOne(pod, container, resource, { count, mask: undefined });
        await this.#commitOne(pod, container, resource, { signal, isCreating: true });
      }
    await this.#saved(uid, signal);
    for (const [resource] of requests) await this.#preStart(uid, container.name, resource, signal);
    const current = held.ofContainer(uid, container.name);
    const responses = current.flatMap(({ response }) => (response === undefined ? [] : [response]));
    const { conflicts, grants } = computeGrants(responses);
    for (const { what, ...fields } of conflicts)
      log.warn('Device plugins gave conflicting settings', {
        pod: podRef(pod),
        container: container.name,
        what,
        ...fields,
      });
    const annotation = formatDevicesAnnotation(current);
    if (annotation === undefined) return grants;
    return { ...grants, annotations: new Map([...grants.annotations, [devicesAnnotation, annotation]]) };
  }

  /** Returns whether the plugin was called. */
  async #commitOne(
    pod: Pod,
    container: Container,
    resource: string,
    { isCreating, signal }: { readonly isCreating: boolean; readonly signal: AbortSignal },
  ): Promise<boolean> {
    const { checkpoint, held, plugins } = this.#deps;
    const key = { uid: podUid(pod), container: container.name, resource };
    const current = held.get(key);
    if (current === undefined) return false;
    // A record that has the devices only is completed before the container is created again.
    if (current.response !== undefined && (!current.isStale || !isCreating)) return false;
    const plugin = plugins.serving(resource);
    if (plugin === undefined) throw endpointStopped(plugins.last(resource)?.socket ?? resource);
    const picked = current.isStale
      ? current
      : await this.#prefer(pod, container, current, { plugin, signal, isFirst: !isCreating });
    const response = await this.#allocate(picked, plugin, signal);
    held.put(answered(picked, response));
    checkpoint.save();
    return true;
  }

  /** Exchanges reserved devices for those that the plugin prefers, as far as they are free. */
  async #prefer(
    pod: Pod,
    container: Container,
    current: Holding,
    {
      isFirst,
      plugin,
      signal,
    }: { readonly isFirst: boolean; readonly plugin: ConnectedPlugin; readonly signal: AbortSignal },
  ): Promise<Holding> {
    const { reservations } = this.#deps;
    const { question } = reservations.planFor(pod, container, current, isFirst);
    const asks = question !== undefined && plugin.options.preferredAllocation;
    const what = `the device plugin of ${current.resource} is choosing devices`;
    const preferred = asks
      ? await this.#during(current.uid, what, () => plugin.preferredAllocation(question, signal))
      : [];
    this.#checkCurrent(current);
    // Other pods may have taken devices in the meantime.
    return reservations.exchange(pod, container, current, { isFirst, preferred });
  }

  async #allocate(
    picked: Holding,
    plugin: ConnectedPlugin,
    signal: AbortSignal,
  ): Promise<ContainerAllocateResponse> {
    const { clock, metrics } = this.#deps;
    const startMs = clock.monotonic();
    const what = `the device plugin of ${picked.resource} is allocating devices`;
    const call = () => plugin.allocate(picked.ids, signal);
    const response = await this.#during(picked.uid, what, call).finally(() =>
      metrics.allocated(picked.resource, (clock.monotonic() - startMs) / 1000),
    );
    this.#checkCurrent(picked);
    const fault = computeResponseFault(response);
    if (fault !== undefined)
      throw rejected(`device plugin of ${picked.resource} returned an invalid allocation response: ${fault}`);
    return response;
  }

  #checkCurrent(held: Holding): void {
    if (!this.#deps.held.isCurrent(held))
      throw rejected(`the devices of pod "${held.uid}" were released during the allocation`);
  }

  async #saved(uid: PodUid, signal: AbortSignal): Promise<void> {
    if (this.#deps.held.ofPod(uid).length === 0) return;
    try {
      await raceAbort(this.#deps.checkpoint.saved(), signal);
    } catch (err) {
      if (isAbortOf(err, signal)) throw err;
      throw rejected(`failed to write checkpoint file "kubelet_internal_checkpoint": ${describeError(err)}`);
    }
  }

  async #preStart(uid: PodUid, container: string, resource: string, signal: AbortSignal): Promise<void> {
    const { held, inventory, plugins } = this.#deps;
    if (inventory.get(resource)?.isRemoved !== false)
      throw rejected(`endpoint not found in cache for a registered resource: ${resource}`);
    const last = plugins.last(resource);
    if (last?.options.preStartRequired !== true) return;
    const current = held.get({ uid, container, resource });
    if (current === undefined)
      throw rejected(
        `no devices found allocated in local cache for pod ${uid}, container ${container}, resource ${resource}`,
      );
    const plugin = plugins.serving(resource);
    if (plugin === undefined) throw rpcFailed('PreStartContainer', endpointStopped(last.socket), signal);
    const what = `the device plugin of ${resource} is preparing devices`;
    await this.#during(uid, what, () => plugin.preStart(current.ids, signal));
  }
}
