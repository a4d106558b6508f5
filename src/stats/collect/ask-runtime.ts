// Asks the runtime what only it knows: what containers have written, where images lie, and the use of containers that are no
// cgroups of this machine. Upstream: pkg/kubelet/stats/cri_stats_provider.go.
// Invariants: a runtime that does not answer costs a deadline and is told as a fault; what it said before is not made up for.

import type {
  ContainerStats,
  FilesystemUsage,
  PodSandboxStats,
} from '../../api/cri/generated/runtime/v1/api.ts';
import { type CriImages, type CriRuntime, isUnimplemented } from '../../api/cri/runtime.ts';
import { withDeadline } from '../../base/abort/deadline.ts';
import type { Clock } from '../../base/clock.ts';
import { describeError } from '../../base/errors.ts';

export interface AskRuntimeDeps {
  readonly runtime: Pick<CriRuntime, 'listContainerStats' | 'listPodSandboxStats'> &
    Pick<CriImages, 'imageFsInfo'>;
  readonly clock: Clock;
}

/** Who scrapes gives up after 10 s: what the kernel tells is there long before. */
const deadlineMs = 3_000;

/** What is known, and what could not be learnt. */
export interface Answer<T> {
  readonly value: T;
  readonly fault: string | undefined;
}

export class AskRuntime {
  readonly #deps: AskRuntimeDeps;

  constructor(deps: AskRuntimeDeps) {
    this.#deps = deps;
  }

  /** By container. */
  async containers(signal: AbortSignal): Promise<Answer<ReadonlyMap<string, ContainerStats>>> {
    return this.#ask('container stats', signal, new Map(), async (inner) => {
      const { stats } = await this.#deps.runtime.listContainerStats({}, { signal: inner });
      return new Map(stats.map((each) => [each.attributes?.id ?? '', each]));
    });
  }

  /** By sandbox. */
  async sandboxes(signal: AbortSignal): Promise<Answer<ReadonlyMap<string, PodSandboxStats>>> {
    return this.#ask('sandbox stats', signal, new Map(), async (inner) => {
      const { stats } = await this.#deps.runtime.listPodSandboxStats({}, { signal: inner });
      return new Map(stats.map((each) => [each.attributes?.id ?? '', each]));
    });
  }

  /** Of those it has, the first, as upstream. */
  async images(signal: AbortSignal): Promise<Answer<FilesystemUsage | undefined>> {
    return this.#ask('image file system', signal, undefined, async (inner) => {
      const { imageFilesystems } = await this.#deps.runtime.imageFsInfo({}, { signal: inner });
      return imageFilesystems[0];
    });
  }

  async #ask<T>(
    what: string,
    signal: AbortSignal,
    nothing: T,
    call: (signal: AbortSignal) => Promise<T>,
  ): Promise<Answer<T>> {
    const { clock } = this.#deps;
    try {
      return { value: await withDeadline({ clock, ms: deadlineMs, signal, what }, call), fault: undefined };
    } catch (err) {
      const fault = isUnimplemented(err) ? undefined : `${what}: ${describeError(err)}`;
      return { value: nothing, fault };
    }
  }
}
