// A proxy between a kubelet and the real runtime that injects faults: calls that hang until they are released, calls
// that fail. All other calls pass unchanged.
import { join } from 'node:path';
import { criLabels } from '../../src/api/cri/labels.ts';
import type { CallOptions } from '../../src/api/cri/runtime.ts';
import { Faults } from '../../test/fake-cri/faults.ts';
import { type CriParts, type ServedCall, type ServedCri, serveCri } from '../../test/fake-cri/serve.ts';
import type { Kubelet, KubeletOptions } from '../rig/kubelet.ts';
import { type Rig, startRig } from '../rig/rig.ts';

type Call = (request: unknown, options?: CallOptions) => unknown;
type Message = Readonly<Record<string, unknown>>;

export class StallingCri {
  /** Injects faults. */
  readonly faults = new Faults({
    goDown: () => undefined,
    comeUp: () => undefined,
    loseEvents: () => undefined,
    after: (ms, fn) => void setTimeout(fn, ms),
  });
  /** The received calls, in order. */
  readonly calls: {
    readonly method: string;
    readonly request: unknown;
    readonly headers: ServedCall['headers'];
  }[] = [];
  readonly socket: string;
  readonly #rig: Rig;
  #served: ServedCri | undefined;

  constructor(rig: Rig) {
    this.#rig = rig;
    this.socket = join(rig.workspace.dir, 'stalling.sock');
  }

  async start(): Promise<void> {
    this.#served = await serveCri({ path: this.socket, parts: this.#parts() });
  }

  async stop(): Promise<void> {
    await this.#served?.close();
  }

  #parts(): CriParts {
    const parts: Record<string, Call> = {};
    for (const [method, call] of Object.entries(this.#rig.cri)) {
      if (typeof call !== 'function' || method === 'close') continue;
      parts[method] =
        method === 'getContainerEvents'
          ? (call as Call)
          : (request, options) => this.#pass(method, call as Call, request, options);
    }
    return parts;
  }

  async #pass(method: string, call: Call, request: unknown, options?: CallOptions): Promise<unknown> {
    const { headers, signal } = options as ServedCall;
    this.calls.push({ method, request, headers });
    await this.faults.apply(method as 'version', request, 'before');
    // The caller may have aborted meanwhile.
    signal.throwIfAborted();
    const answer = await call(request, { signal });
    await this.faults.apply(method as 'version', request, 'after');
    return answer;
  }

  /**
   * A predicate for requests of the pod of this name: by its name, or by the ID of one of its containers or sandboxes.
   */
  async about(podName: string): Promise<(request: unknown) => boolean> {
    const labelSelector = { [criLabels.podName]: podName };
    const [sandboxes, containers] = await Promise.all([
      this.#rig.cri.listPodSandbox({ filter: { labelSelector } }),
      this.#rig.cri.listContainers({ filter: { labelSelector } }),
    ]);
    const ids = new Set([...sandboxes.items, ...containers.containers].map(({ id }) => id));
    return (request) => {
      const { containerId, podSandboxId, config, sandboxConfig } = request as Message;
      const named = [config, sandboxConfig] as (
        | { readonly metadata?: { readonly name?: string } }
        | undefined
      )[];
      return (
        ids.has(String(containerId)) ||
        ids.has(String(podSandboxId)) ||
        named.some((each) => each?.metadata?.name === podName)
      );
    };
  }
}

/** A rig and a kubelet with a fault-injecting proxy between them. */
export interface StalledRig {
  readonly rig: Rig;
  readonly cri: StallingCri;
  readonly kubelet: Kubelet;
  stop(): Promise<void>;
}

export async function startStalledRig(
  optionsOf: (rig: Rig) => KubeletOptions | Promise<KubeletOptions> = () => ({}),
): Promise<StalledRig> {
  const rig = await startRig();
  const cri = new StallingCri(rig);
  await cri.start();
  const options = await optionsOf(rig);
  const flags = [`--container-runtime-endpoint=unix://${cri.socket}`, ...(options.flags ?? [])];
  const kubelet = await rig.kubelet({ ...options, flags });
  const stop = async (): Promise<void> => {
    await kubelet.stop();
    await cri.stop();
    await rig.stop();
  };
  return { rig, cri, kubelet, stop };
}
