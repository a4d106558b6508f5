// What this kubelet process knows of volumes beyond what is on disk. Owns the record; it starts empty.
// Upstream: the device and mount states of the actual state of the world.
// Invariant: what is not recorded may have been set up by an earlier process, so nothing of it is removed when a call fails.

interface KnownDevice {
  readonly seLinuxLabel: string | undefined;
}

export class KnownVolumes {
  readonly #staged = new Set<string>();
  readonly #devices = new Map<string, KnownDevice>();
  readonly #created = new Set<string>();

  /** Whether the driver has staged the volume for this process, so that another pod need not have it staged again. */
  isStaged(key: string): boolean {
    return this.#staged.has(key);
  }

  staged(key: string): void {
    this.#staged.add(key);
  }

  /** The label of the volume's mounts; undefined if this process has not set it up. */
  device(key: string): KnownDevice | undefined {
    return this.#devices.get(key);
  }

  using(key: string, seLinuxLabel: string | undefined): void {
    this.#devices.set(key, { seLinuxLabel });
  }

  /** The device is being released, or was never set up. */
  forgetDevice(key: string): void {
    this.#staged.delete(key);
    this.#devices.delete(key);
  }

  /** Whether this process created what is at this path. */
  hasCreated(path: string): boolean {
    return this.#created.has(path);
  }

  created(path: string): void {
    this.#created.add(path);
  }

  forgetPath(path: string): void {
    this.#created.delete(path);
  }
}
