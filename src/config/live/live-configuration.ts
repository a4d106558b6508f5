// The configuration in force, which can change while the kubelet runs. Owns it; apply() is its only writer.
// Invariants: one apply() switches all its values before it announces the first; a field that needs a restart, feature gates
// included, keeps the value of the start; a value that did not change keeps its identity, so that readers can cache by it.
import { Channel } from '../../base/channel.ts';
import type { Store } from '../../base/store.ts';
import { type KubeletConfiguration, kubeletConfiguration } from '../table/kubelet-configuration.ts';
import { type ConfigChange, diffConfiguration, inForceAfter } from './diff.ts';

export class LiveConfiguration implements Store {
  readonly storeName = 'LiveConfiguration';
  readonly writer = 'live-config';
  /** Announces the path of each field that took a new value. */
  readonly changed = new Channel<string>();
  /** Reads current() whenever a property is read; spreading it makes a copy of that moment. */
  readonly view: KubeletConfiguration;
  #current: KubeletConfiguration;

  /** `initial` is what the kubelet was assembled with. */
  constructor(initial: KubeletConfiguration) {
    this.#current = initial;
    const view = {};
    for (const name of Object.keys(kubeletConfiguration) as (keyof KubeletConfiguration)[]) {
      Object.defineProperty(view, name, { enumerable: true, get: () => this.#current[name] });
    }
    this.view = view as KubeletConfiguration;
  }

  /** What is in force. */
  current(): KubeletConfiguration {
    return this.#current;
  }

  /** What would be in force after apply(next): validate this too, since it combines two configurations. */
  preview(next: KubeletConfiguration): KubeletConfiguration {
    return inForceAfter(this.#current, next);
  }

  /**
   * Puts in force what needs no restart. Returns how `next` differs from what was in force, including what now waits for a
   * restart. `next` is valid, and has what start-up put in place of the file's values, such as the runtime's cgroup driver.
   */
  apply(next: KubeletConfiguration): readonly ConfigChange[] {
    const changes = diffConfiguration(this.#current, next);
    this.#current = inForceAfter(this.#current, next);
    for (const { path, applies } of changes) if (applies !== 'restart') this.changed.push(path);
    return changes;
  }
}
