// Decides which devices containers get, from what plugins report and containers hold, and reserves them at admission.
// Upstream: devicesToAllocate in pkg/kubelet/cm/devicemanager/manager.go, and topology_hints.go.
// Invariants: everything here is synchronous, so no device is reserved twice; devices that may be in use without a record are not
// given away.
import type { Container, Pod } from '../../api/k8s/types.ts';
import { initAndRegularContainers } from '../../api/pod/find-container.ts';
import { podUid } from '../../api/pod/pod-ref.ts';
import { KubeletError } from '../../base/errors.ts';
import type { ResourceHints, TopologyHint } from '../topology/hint-provider.ts';
import type { NumaNodes } from '../topology/numa-nodes.ts';
import {
  computeDevicePick,
  computeDevicePlan,
  type DevicePlan,
  splitByAffinity,
} from './device-allocation.ts';
import { computeDeviceHints } from './device-hints.ts';
import type { DeviceInventory } from './device-inventory.ts';
import type { DeviceRecords, PodsView } from './device-records.ts';
import { computeReusable, containerDeviceRequests, podDeviceRequests } from './device-requests.ts';
import { type HeldDevices, type Holding, reservation } from './held-devices.ts';

type Mask = TopologyHint['mask'];

interface DeviceReservationsDeps {
  /** Known once the machine was inspected. */
  readonly nodes: () => NumaNodes;
  readonly inventory: DeviceInventory;
  readonly held: HeldDevices;
  readonly records: DeviceRecords;
  readonly pods: Pick<PodsView, 'isRunning'>;
}

interface Wanted {
  readonly count: number;
  readonly mask: Mask;
  readonly own: Holding | undefined;
  /** Their devices may be chosen too. */
  readonly lenders?: readonly Holding[];
}

export class DeviceReservations {
  readonly #deps: DeviceReservationsDeps;

  constructor(deps: DeviceReservationsDeps) {
    this.#deps = deps;
  }

  containerHints(pod: Pod, container: Container): ResourceHints {
    const uid = podUid(pod);
    const requests = containerDeviceRequests(pod, container).filter(([resource]) => this.isKnown(resource));
    return new Map(
      requests.map(([resource, request]) => {
        const own = this.#deps.held.get({ uid, container: container.name, resource })?.ids ?? [];
        // It has devices, but it is unknown which.
        if (own.length === 0 && this.#deps.pods.isRunning(uid, container.name)) return [resource, undefined];
        return [resource, this.#hints(resource, request, own, this.#reusable(pod, container, resource))];
      }),
    );
  }

  podHints(pod: Pod): ResourceHints {
    const held = this.#deps.held.ofPod(podUid(pod));
    const isRunning = this.#isPartlyRunning(pod);
    const requests = podDeviceRequests(pod).filter(([resource]) => this.isKnown(resource));
    return new Map(
      requests.map(([resource, request]) => {
        const own = new Set(held.flatMap((each) => (each.resource === resource ? each.ids : [])));
        if (own.size === 0 && isRunning) return [resource, undefined];
        return [resource, this.#hints(resource, request, [...own], [])];
      }),
    );
  }

  /** Whether a device plugin has advertised this resource, or a container has devices of it. */
  isKnown(resource: string): boolean {
    const { held, inventory } = this.#deps;
    return inventory.get(resource) !== undefined || held.has(resource);
  }

  /** Throws upstream's errors. */
  reserve(pod: Pod, container: Container, { mask }: TopologyHint): void {
    const uid = podUid(pod);
    const isAdopted = this.#isPartlyRunning(pod);
    for (const [resource, count] of containerDeviceRequests(pod, container)) {
      if (!this.isKnown(resource)) continue;
      const key = { uid, container: container.name, resource };
      const held = this.#deps.held.get(key);
      if (held !== undefined && held.ids.length !== count)
        throw rejected(
          `pod "${uid}" container "${container.name}" changed request for resource "${resource}" from ${held.ids.length} to ${count}`,
        );
      // differs from upstream, which considers the container alone and so rejects a running pod whose init container has ended if
      // its plugin is missing. What a container of a running pod lacks is allocated when it is created.
      if (isAdopted) continue;
      if (held === undefined) this.reserveOne(pod, container, resource, { count, mask });
      else this.#checkHealth(resource, held);
    }
  }

  /** Throws upstream's errors if the devices are not available. */
  reserveOne(
    pod: Pod,
    container: Container,
    resource: string,
    wanted: { readonly count: number; readonly mask: Mask },
  ): void {
    this.#checkHealth(resource, undefined);
    const key = { uid: podUid(pod), container: container.name, resource };
    const plan = this.#plan(pod, container, resource, { ...wanted, own: undefined });
    this.#hold(key, computeDevicePick(plan, []), wanted.mask);
  }

  /**
   * What the plugin may choose for a reservation, given what other containers hold now. With `isFirst` it may also choose what the
   * later containers of the pod have only reserved, as upstream allocates for one container after the other.
   */
  planFor(pod: Pod, container: Container, own: Holding, isFirst: boolean): DevicePlan {
    const { ids, mask, resource } = own;
    const lenders = isFirst ? this.#laterReservations(pod, container, resource) : [];
    return this.#plan(pod, container, resource, { count: ids.length, mask, own, lenders });
  }

  /** Reserves what the plugin prefers in place of the reserved devices, as far as possible. */
  exchange(
    pod: Pod,
    container: Container,
    own: Holding,
    { isFirst, preferred }: { readonly isFirst: boolean; readonly preferred: readonly string[] },
  ): Holding {
    const ids = computeDevicePick(this.planFor(pod, container, own, isFirst), preferred);
    const isSame = ids.length === own.ids.length && ids.every((id, at) => id === own.ids[at]);
    if (isSame) return own;
    const later = isFirst ? this.#laterReservations(pod, container, own.resource) : [];
    const isNew = (id: string): boolean => ids.includes(id) && !own.ids.includes(id);
    if (!later.some((each) => each.ids.some(isNew))) return this.#hold(own, ids, own.mask);
    for (const each of later) this.#deps.held.remove(each);
    const next = this.#hold(own, ids, own.mask);
    if (this.#reserveAgain(pod, later)) return next;
    for (const each of later) this.#deps.held.put(each);
    this.#deps.held.put(own);
    return this.exchange(pod, container, own, { isFirst: false, preferred });
  }

  /** Of containers after this one, in their order. */
  #laterReservations(pod: Pod, container: Container, resource: string): readonly Holding[] {
    const containers = initAndRegularContainers(pod);
    const at = containers.findIndex(({ name }) => name === container.name);
    return containers.slice(at + 1).flatMap(({ name }) => {
      const held = this.#deps.held.get({ uid: podUid(pod), container: name, resource });
      return held === undefined || held.response !== undefined ? [] : [held];
    });
  }

  /** False if the containers would get too few devices, or fewer than before on the NUMA nodes of their hint. */
  #reserveAgain(pod: Pod, reserved: readonly Holding[]): boolean {
    const nodes = this.#deps.nodes();
    const containers = initAndRegularContainers(pod);
    for (const each of reserved) {
      const { ids: before, mask, resource } = each;
      const container = containers.find(({ name }) => name === each.container);
      if (container === undefined) return false;
      const devices = this.#deps.inventory.get(resource)?.devices ?? new Map();
      const aligned = (ids: readonly string[]): number =>
        splitByAffinity({ devices, mask, nodes }, ids).aligned.length;
      try {
        const plan = this.#plan(pod, container, resource, { count: before.length, mask, own: undefined });
        const ids = computeDevicePick(plan, []);
        if (aligned(ids) < aligned(before)) return false;
        this.#hold(each, ids, mask);
      } catch (err) {
        if (err instanceof KubeletError) return false;
        throw err;
      }
    }
    return true;
  }

  #isPartlyRunning(pod: Pod): boolean {
    return initAndRegularContainers(pod).some(({ name }) => this.#deps.pods.isRunning(podUid(pod), name));
  }

  #plan(pod: Pod, container: Container, resource: string, { count, lenders, mask, own }: Wanted): DevicePlan {
    return computeDevicePlan({
      resource,
      required: count,
      reusable: this.#reusable(pod, container, resource),
      available: this.#available(resource, own, lenders),
      devices: this.#deps.inventory.get(resource)?.devices ?? new Map(),
      mask,
      nodes: this.#deps.nodes(),
    });
  }

  #hold(key: Pick<Holding, 'uid' | 'container' | 'resource'>, ids: readonly string[], mask: Mask): Holding {
    const devices = this.#deps.inventory.get(key.resource)?.devices ?? new Map();
    const next = reservation(key, ids, devices, mask);
    this.#deps.held.put(next);
    return next;
  }

  #hints(
    resource: string,
    request: number,
    own: readonly string[],
    reusable: readonly string[],
  ): readonly TopologyHint[] | undefined {
    const devices = this.#deps.inventory.get(resource)?.devices ?? new Map();
    const available = this.#available(resource, undefined);
    return computeDeviceHints({ devices, own, available, reusable, request, nodes: this.#deps.nodes() });
  }

  /** Healthy, and held by no container other than `own` and the lenders. */
  #available(resource: string, own: Holding | undefined, lenders?: readonly Holding[]): readonly string[] {
    const { held, inventory, records } = this.#deps;
    const healthy = inventory.get(resource)?.healthy ?? [];
    const free = held.free(resource, healthy, own, lenders);
    if (!records.isWithheld(resource)) return free;
    const ids = new Set(own?.ids);
    return free.filter((id) => ids.has(id));
  }

  #reusable(pod: Pod, container: Container, resource: string): readonly string[] {
    const uid = podUid(pod);
    return computeReusable(
      pod,
      container,
      (name) => this.#deps.held.get({ uid, container: name, resource })?.ids ?? [],
    );
  }

  #checkHealth(resource: string, held: Holding | undefined): void {
    const state = this.#deps.inventory.get(resource);
    if (state === undefined || state.isRemoved)
      throw rejected(`cannot allocate unregistered device ${resource}`);
    if (state.healthy.length === 0)
      throw rejected(`no healthy devices present; cannot allocate unhealthy devices ${resource}`);
    const isHealthy = (id: string): boolean => state.devices.get(id)?.healthy === true;
    if (held?.ids.every(isHealthy) === false)
      throw rejected(
        `previously allocated devices are no longer healthy; cannot allocate unhealthy devices ${resource}`,
      );
  }
}

export function rejected(message: string): KubeletError {
  return new KubeletError('conflict', 'UnexpectedAdmissionError', message);
}
