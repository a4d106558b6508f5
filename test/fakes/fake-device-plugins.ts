// Device plugins in memory: what a test sends them is what the device manager receives. Each call can be replaced, to fail, hang or
// answer garbage.
import { ContainerAllocateResponse } from '../../src/api/kubelet/generated/deviceplugin/v1beta1/api.ts';
import type {
  DevicePluginConnection,
  DevicePluginDialer,
  PluginDevice,
  PluginOptions,
} from '../../src/api/ports/device-plugins.ts';
import { KubeletError } from '../../src/base/errors.ts';

export function healthy(id: string, numaNodes?: readonly number[]): PluginDevice {
  return { id, healthy: true, numaNodes };
}

export function unhealthy(id: string, numaNodes?: readonly number[]): PluginDevice {
  return { id, healthy: false, numaNodes };
}

/** Never settles. */
export function hang<T>(): Promise<T> {
  return new Promise(() => undefined);
}

export class FakeDevicePlugin {
  readonly socket: string;
  options: PluginOptions = { preStartRequired: false, preferredAllocation: false };
  readonly calls: string[] = [];
  /** Open streams. */
  readonly streams = new Set<FakeStream>();
  /** The last list, which a new stream begins with. */
  list: readonly PluginDevice[] | undefined;
  allocate: (ids: readonly string[]) => Promise<ContainerAllocateResponse> = async (ids) =>
    ContainerAllocateResponse.create({ envs: { DEVICES: ids.join(',') } });
  prefer: (available: readonly string[], mustInclude: readonly string[]) => Promise<readonly string[]> =
    async () => [];
  preStart: (ids: readonly string[]) => Promise<void> = async () => undefined;

  constructor(socket: string) {
    this.socket = socket;
  }

  send(...list: readonly PluginDevice[]): void {
    this.list = list;
    for (const stream of this.streams) stream.push(list);
  }

  /** The process ends: its connections break. */
  die(): void {
    for (const stream of this.streams) stream.fail(new KubeletError('unavailable', 'Unavailable', 'EOF'));
    this.streams.clear();
  }

  connect(): DevicePluginConnection {
    const stream = new FakeStream();
    this.streams.add(stream);
    if (this.list !== undefined) stream.push(this.list);
    const call = async <T>(text: string, answer: () => Promise<T>): Promise<T> => {
      this.calls.push(text);
      return answer();
    };
    return {
      socket: this.socket,
      options: this.options,
      devices: () => stream,
      preferredAllocation: ({ available, mustInclude, size }) =>
        call(`prefer ${size} of ${available.join(',')} with ${mustInclude.join(',')}`, () =>
          this.prefer(available, mustInclude),
        ),
      allocate: (ids) => call(`allocate ${ids.join(',')}`, () => this.allocate(ids)),
      preStart: (ids) => call(`preStart ${ids.join(',')}`, () => this.preStart(ids)),
      close: () => {
        stream.end();
        this.streams.delete(stream);
      },
    };
  }
}

type Next = IteratorResult<readonly PluginDevice[], undefined>;

class FakeStream implements AsyncIterable<readonly PluginDevice[]> {
  readonly #lists: (readonly PluginDevice[])[] = [];
  #end: { readonly err?: Error } | undefined;
  #wake: () => void = () => undefined;

  push(list: readonly PluginDevice[]): void {
    this.#lists.push(list);
    this.#wake();
  }

  fail(err: Error): void {
    this.#end ??= { err };
    this.#wake();
  }

  end(): void {
    this.#end ??= {};
    this.#wake();
  }

  async next(): Promise<Next> {
    for (;;) {
      const value = this.#lists.shift();
      if (value !== undefined) return { done: false, value };
      if (this.#end?.err !== undefined) throw this.#end.err;
      if (this.#end !== undefined) return { done: true, value: undefined };
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  [Symbol.asyncIterator](): AsyncIterator<readonly PluginDevice[], undefined> {
    return this;
  }
}

export class FakeDevicePlugins implements DevicePluginDialer {
  readonly bySocket = new Map<string, FakeDevicePlugin>();
  /** Connections wait for it. */
  gate: Promise<void> = Promise.resolve();

  add(socket: string, ...list: readonly PluginDevice[]): FakeDevicePlugin {
    const plugin = new FakeDevicePlugin(socket);
    if (list.length > 0) plugin.list = list;
    this.bySocket.set(socket, plugin);
    return plugin;
  }

  async dial(socket: string): Promise<DevicePluginConnection> {
    await this.gate;
    const plugin = this.bySocket.get(socket);
    if (plugin === undefined)
      throw new KubeletError('unavailable', 'Unavailable', 'failed to dial device plugin: no such socket');
    return plugin.connect();
  }
}
