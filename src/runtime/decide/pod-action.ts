// What can be done to a pod on the runtime, as data. The order of a list of actions is the order of execution.
import type { ResourceRequirements } from '../../api/k8s/types.ts';
import type { ContainerId } from '../../api/pod/pod-ref.ts';
import type { ResizeAmounts } from '../../api/pod/resize.ts';
import type { ProbeResultsView } from '../../api/ports/probe-results.ts';

export type ContainerKind = 'ephemeral' | 'init' | 'app';

/** Who found that a container has to end; a probe may bring a grace period of its own. */
export type StopCause = 'liveness' | 'startup' | 'other';

export type StopContainer = {
  readonly do: 'stop-container';
  readonly id: ContainerId;
  readonly name: string;
  readonly why: string;
  readonly cause: StopCause;
};

export type StartAction =
  /** `replaces`: a container that never ran; it is removed and its restart count used again. */
  | {
      readonly do: 'start-container';
      readonly name: string;
      readonly kind: ContainerKind;
      readonly replaces?: ContainerId;
    }
  /** A container that was made but never started, by a kubelet that was killed in between. */
  | {
      readonly do: 'start-created';
      readonly name: string;
      readonly kind: ContainerKind;
      readonly id: ContainerId;
    }
  /** A container that runs, but whose postStart hook was cut off: the hook runs again. */
  | {
      readonly do: 'finish-start';
      readonly name: string;
      readonly kind: ContainerKind;
      readonly id: ContainerId;
    };

/** A container that runs on with other amounts. */
export interface ContainerResize {
  readonly id: ContainerId;
  readonly name: string;
  readonly desired: ResizeAmounts;
  /** What it was last given. */
  readonly current: ResizeAmounts;
}

/** The pod's own cgroup and its running containers come to what was allocated, in the order of the lists. */
export type ResizePod = {
  readonly do: 'resize-pod';
  readonly memory: readonly ContainerResize[];
  readonly cpu: readonly ContainerResize[];
  /** Containers are made anew for it: the pod's own cgroup follows in both resources. */
  readonly restarts: boolean;
};

export type PodAction =
  /** Every container and sandbox of the pod ends. */
  | { readonly do: 'stop-pod'; readonly why: string }
  /** Init containers of an earlier sandbox, whose outcome says nothing about the next one. */
  | { readonly do: 'remove-containers'; readonly ids: readonly ContainerId[] }
  /** `changed`: there was one before. */
  | { readonly do: 'create-sandbox'; readonly attempt: number; readonly changed: boolean }
  | StopContainer
  | ResizePod
  | StartAction;

/** Absent where resizes are not allowed: the gate is off, or the pod is static. */
export interface ResizeView {
  /** What a container was last given; undefined when nobody remembers. */
  actuated(container: string): ResourceRequirements | undefined;
}

export interface DecideOptions {
  readonly probes?: Pick<ProbeResultsView, 'get'> | undefined;
  /** Feature gate ContainerRestartRules. */
  readonly restartRules?: boolean | undefined;
  /** What running containers have; absent where they cannot be resized. */
  readonly resize?: ResizeView | undefined;
  /** Containers whose postStart hook has not succeeded. */
  readonly unfinishedHooks?: { has(id: ContainerId): boolean } | undefined;
}
