// Fetches statistics that only the runtime has: writable layers, the image file system, and the usage of containers without a
// cgroup on this machine. Upstream: pkg/kubelet/stats/cri_stats_provider.go.
// Invariants: an unresponsive runtime costs one deadline and is reported as a fault; no earlier value is substituted.

import type {
  ContainerStats,
  FilesystemUsage,
  PodSandboxStats,
} from '../../api/cri/generated/runtime/v1/api.ts';
import { type CriImages, type CriRuntime, isUnimplemented } from '../../api/cri/runtime.ts';
import { withDeadline } from '../../base/abort/deadline.ts';
import type { Clock } from '../../base/clock.ts';
import { describeError } from '../../base/errors.ts';

export interface RuntimeStatsDeps {
  readonly runtime: Pick<CriRuntime, 'listContainerStats' | 'listPodSandboxStats'> &
    Pick<CriImages, 'imageFsInfo'>;
  readonly clock: Clock;
}

/** Scrapers time out after 10 s; the kernel's figures must be served before that. */
const deadlineMs = 3_000;

/** A value, or the fault that replaced it with an empty one. */
export interface Fetched<T> {
  readonly value: T;
  readonly fault: string | undefined;
}

export class RuntimeStats {
  readonly #deps: RuntimeStatsDeps;

  constructor(deps: RuntimeStatsDeps) {
    this.#deps = deps;
  }

  /** By container ID. */
  async containers(signal: AbortSignal): Promise<Fetched<ReadonlyMap<string, ContainerStats>>> {
    return this.#fetch('container stats', signal, new Map(), async (inner) => {
      const { stats } = await this.#deps.runtime.listContainerStats({}, { signal: inner });
      return new Map(stats.map((each) => [each.attributes?.id ?? '', each]));
    });
  }

  /** By sandbox ID. */
  async sandboxes(signal: AbortSignal): Promise<Fetched<ReadonlyMap<string, PodSandboxStats>>> {
    return this.#fetch('sandbox stats', signal, new Map(), async (inner) => {
      const { stats } = await this.#deps.runtime.listPodSandboxStats({}, { signal: inner });
      return new Map(stats.map((each) => [each.attributes?.id ?? '', each]));
    });
  }

  /** The first image file system, as upstream. */
  async images(signal: AbortSignal): Promise<Fetched<FilesystemUsage | undefined>> {
    return this.#fetch('image file system', signal, undefined, async (inner) => {
      const { imageFilesystems } = await this.#deps.runtime.imageFsInfo({}, { signal: inner });
      return imageFilesystems[0];
    });
  }

  async #fetch<T>(
    what: string,
    signal: AbortSignal,
    fallback: T,
    call: (signal: AbortSignal) => Promise<T>,
  ): Promise<Fetched<T>> {
    const { clock } = this.#deps;
    try {
      return { value: await withDeadline({ clock, ms: deadlineMs, signal, what }, call), fault: undefined };
    } catch (err) {
      const fault = isUnimplemented(err) ? undefined : `${what}: ${describeError(err)}`;
      return { value: fallback, fault };
    }
  }
}
