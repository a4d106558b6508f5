// The registrations of CSI drivers by name. Passive: csi-registry.ts alone writes it.
// Invariant: a driver is keyed by name and socket. Of several registrations of one name the one that succeeded last serves, and the
// one before it serves again when that one goes.
// differs from upstream (csi_drivers_store.go), which keys drivers by name: there an upgrade in place is refused until the old
// socket is gone, or the removal of the old socket removes the new driver.
import type { CsiDriverClient } from '../api/ports/csi.ts';
import type { DriverInfo } from './driver-info.ts';

export interface Registration {
  readonly driver: string;
  readonly endpoint: string;
  readonly client: CsiDriverClient;
  /** Undefined until it is published. */
  info: DriverInfo | undefined;
}

export class DriverRegistrations {
  readonly #byName = new Map<string, readonly Registration[]>();

  get size(): number {
    return this.all().length;
  }

  all(): readonly Registration[] {
    return [...this.#byName.values()].flat();
  }

  /** Sorted. */
  names(): readonly string[] {
    return [...this.#byName.keys()].sort();
  }

  hasName(driver: string): boolean {
    return this.#byName.has(driver);
  }

  has(registration: Registration): boolean {
    return this.#of(registration.driver).includes(registration);
  }

  at(driver: string, endpoint: string): readonly Registration[] {
    return this.#of(driver).filter((each) => each.endpoint === endpoint);
  }

  /** Undefined while none has succeeded. */
  serving(driver: string): Registration | undefined {
    return this.#of(driver).findLast(({ info }) => info !== undefined);
  }

  /** The one that serves, or else the newest in progress. */
  newest(driver: string): Registration | undefined {
    return this.serving(driver) ?? this.#of(driver).at(-1);
  }

  add(registration: Registration): void {
    this.#byName.set(registration.driver, [...this.#of(registration.driver), registration]);
  }

  remove(registration: Registration): void {
    const rest = this.#of(registration.driver).filter((each) => each !== registration);
    if (rest.length === 0) this.#byName.delete(registration.driver);
    else this.#byName.set(registration.driver, rest);
  }

  /** From now on it serves. */
  succeed(registration: Registration, info: DriverInfo): void {
    registration.info = info;
    this.remove(registration);
    this.add(registration);
  }

  #of(driver: string): readonly Registration[] {
    return this.#byName.get(driver) ?? [];
  }
}
