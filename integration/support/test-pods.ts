// The static pods of one test on a shared kubelet, which are removed at the end of the test.
import type { Pod } from '../../src/api/k8s/types.ts';
import type { Kubelet } from '../rig/kubelet.ts';
import { manifest } from './manifest.ts';
import { untilRunning } from './pod-state.ts';

export class TestPods {
  readonly #kubelet: () => Kubelet;
  readonly #names = new Set<string>();

  constructor(kubelet: () => Kubelet) {
    this.#kubelet = kubelet;
  }

  write(name: string, pod: Pod = manifest(name)): void {
    this.#kubelet().writeManifest(name, pod);
    this.#names.add(name);
  }

  remove(name: string): void {
    this.#kubelet().removeManifest(name);
    this.#names.delete(name);
  }

  removeAll(): void {
    for (const name of this.#names) this.remove(name);
  }

  async start(name: string, pod?: Pod): Promise<Pod> {
    this.write(name, pod);
    return untilRunning(this.#kubelet(), name);
  }
}
