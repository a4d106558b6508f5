// The devices that plugins report, by resource, and for how long a resource outlives its plugins. Upstream: allDevices,
// healthyDevices and GetCapacity of pkg/kubelet/cm/devicemanager.
// Invariants: a resource once known stays known until the kubelet restarts; the devices of a resource without a plugin are not
// healthy; bounded by `mostResources` and the bounds of a list.
import type { PluginDevice } from '../../api/ports/device-plugins.ts';
import { Quantity } from '../../api/quantity/quantity.ts';
import type { ResourceAmounts } from '../../api/quantity/resource-amounts.ts';
import type { Clock, Timer } from '../../base/clock.ts';

/** For how long a resource without a plugin stays in the node's capacity. */
const graceMs = 5 * 60_000;

interface ResourceDevices {
  readonly devices: ReadonlyMap<string, PluginDevice>;
  /** Sorted; empty without a plugin. */
  readonly healthy: readonly string[];
  /** Whether a plugin is connected and has reported its devices. */
  readonly isListed: boolean;
  /** Whether no plugin has been connected for the grace period. */
  readonly isRemoved: boolean;
  /** On the monotonic clock; undefined if no plugin has registered in this process. */
  readonly registeredMs: number | undefined;
}

const none: ResourceDevices = {
  devices: new Map(),
  healthy: [],
  isListed: false,
  isRemoved: false,
  registeredMs: undefined,
};

interface InventoryDeps {
  readonly clock: Pick<Clock, 'setTimer' | 'monotonic'>;
  /** The node's capacity or allocatable changed. */
  readonly onChange: (resource: string) => void;
}

export class DeviceInventory {
  readonly #deps: InventoryDeps;
  readonly #resources = new Map<string, ResourceDevices>();
  readonly #graces = new Map<string, Timer>();

  constructor(deps: InventoryDeps) {
    this.#deps = deps;
  }

  get(resource: string): ResourceDevices | undefined {
    return this.#resources.get(resource);
  }

  get size(): number {
    return this.#resources.size;
  }

  /** From the checkpoint: without devices until its plugin registers. */
  restore(resource: string): void {
    if (this.#resources.has(resource)) return;
    this.#resources.set(resource, none);
    this.#startGrace(resource);
  }

  connected(resource: string): void {
    this.#endGrace(resource);
    const registeredMs = this.#deps.clock.monotonic();
    this.#resources.set(resource, { ...(this.get(resource) ?? none), isRemoved: false, registeredMs });
  }

  /** Replaces the devices. Returns those whose health changed or that were not in the list before; undefined: no change. */
  list(resource: string, list: readonly PluginDevice[]): readonly string[] | undefined {
    const before = this.get(resource) ?? none;
    const devices = new Map(list.map((device) => [device.id, device]));
    const changed: string[] = [];
    let isSame = before.isListed && devices.size === before.devices.size;
    for (const [id, device] of devices) {
      const known = before.devices.get(id);
      if (known?.healthy !== device.healthy) changed.push(id);
      isSame &&= known !== undefined && known.healthy === device.healthy && sameNodes(known, device);
    }
    if (isSame) return undefined;
    const healthy = [...devices.values()].flatMap((device) => (device.healthy ? [device.id] : [])).toSorted();
    this.#resources.set(resource, { ...before, devices, healthy, isListed: true, isRemoved: false });
    this.#deps.onChange(resource);
    return changed;
  }

  /** The last plugin of the resource disconnected. */
  disconnected(resource: string): void {
    const before = this.get(resource);
    if (before === undefined) return;
    // The reported health stays, as upstream: nothing newer is known.
    this.#resources.set(resource, { ...before, healthy: [], isListed: false });
    this.#startGrace(resource);
    this.#deps.onChange(resource);
  }

  stop(): void {
    for (const timer of this.#graces.values()) timer.cancel();
    this.#graces.clear();
  }

  /** For the node's status. */
  amounts(): {
    readonly capacity: ResourceAmounts;
    readonly allocatable: ResourceAmounts;
    readonly removed: readonly string[];
  } {
    const all = this.#sorted();
    const present = all.filter(([, { isRemoved }]) => !isRemoved);
    return {
      capacity: new Map(present.map(([name, { devices }]) => [name, Quantity.of(devices.size)])),
      allocatable: new Map(present.map(([name, { healthy }]) => [name, Quantity.of(healthy.length)])),
      removed: all.filter(([, { isRemoved }]) => isRemoved).map(([name]) => name),
    };
  }

  /** The healthy devices by resource, as the checkpoint has them. */
  registered(): ReadonlyMap<string, readonly string[]> {
    const present = this.#sorted().filter(([, { isRemoved }]) => !isRemoved);
    return new Map(present.map(([name, { healthy }]) => [name, healthy]));
  }

  #sorted(): readonly (readonly [string, ResourceDevices])[] {
    return [...this.#resources].toSorted(([a], [b]) => (a < b ? -1 : 1));
  }

  #startGrace(resource: string): void {
    this.#endGrace(resource);
    const timer = this.#deps.clock.setTimer(graceMs, () => {
      this.#graces.delete(resource);
      this.#resources.set(resource, { ...(this.get(resource) ?? none), isRemoved: true });
      this.#deps.onChange(resource);
    });
    this.#graces.set(resource, timer);
  }

  #endGrace(resource: string): void {
    this.#graces.get(resource)?.cancel();
    this.#graces.delete(resource);
  }
}

function sameNodes(a: PluginDevice, b: PluginDevice): boolean {
  const nodes = b.numaNodes ?? [];
  if ((a.numaNodes === undefined) !== (b.numaNodes === undefined)) return false;
  return a.numaNodes?.length === b.numaNodes?.length && nodes.every((node, at) => node === a.numaNodes?.[at]);
}
