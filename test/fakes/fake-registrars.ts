// The directory of plugin registrations in memory: sockets that appear and go, the registration service behind each, and what its
// plugin was notified of. For a kubelet in memory; sockets outlive it.
import type { PluginInfo } from '../../src/api/kubelet/generated/pluginregistration/v1/api.ts';
import { KubeletError } from '../../src/base/errors.ts';
import type { RealEdges } from '../../src/edge/real-edges.ts';

type PluginEdges = Pick<RealEdges['plugins'], 'watch' | 'dial'>;

interface Registrar {
  readonly info: PluginInfo;
  readonly incarnation: string;
}

export class FakeRegistrars implements PluginEdges {
  /** `registered`, or the error; by socket, in order. */
  readonly notified = new Map<string, string[]>();
  readonly #registrars = new Map<string, Registrar>();
  readonly #listeners = new Set<() => void>();
  #incarnations = 0;

  /** A socket appears, or is recreated. */
  add(socket: string, info: Partial<PluginInfo> & Pick<PluginInfo, 'name'>): void {
    const { endpoint = '', name, supportedVersions = ['1.0.0'], type = 'CSIPlugin' } = info;
    this.#incarnations += 1;
    const incarnation = String(this.#incarnations);
    this.#registrars.set(socket, { info: { type, name, endpoint, supportedVersions }, incarnation });
    this.#announce();
  }

  remove(socket: string): void {
    this.#registrars.delete(socket);
    this.#announce();
  }

  /** The last notification. */
  outcome(socket: string): string | undefined {
    return this.notified.get(socket)?.at(-1);
  }

  readonly watch: PluginEdges['watch'] = ({ onSockets }) => {
    const report = (): void =>
      onSockets(new Map([...this.#registrars].map(([socket, { incarnation }]) => [socket, incarnation])));
    this.#listeners.add(report);
    report();
    return { close: () => void this.#listeners.delete(report) };
  };

  readonly dial: PluginEdges['dial'] = async (socket) => {
    const registrar = this.#registrars.get(socket);
    if (registrar === undefined) throw new KubeletError('unavailable', 'UNAVAILABLE', 'no such socket');
    return {
      info: async () => registrar.info,
      notify: async ({ error, pluginRegistered }) => {
        const before = this.notified.get(socket) ?? [];
        this.notified.set(socket, [...before, pluginRegistered ? 'registered' : error]);
      },
      close: () => undefined,
    };
  };

  #announce(): void {
    for (const report of this.#listeners) report();
  }
}
