// The actions on a pod on the runtime, as data. The order of a list of actions is the order of execution.
import type { ResourceRequirements } from '../../api/k8s/types.ts';
import type { ContainerId } from '../../api/pod/pod-ref.ts';
import type { ResizeAmounts } from '../../api/pod/resize.ts';
import type { ProbeResultsView } from '../../api/ports/probe-results.ts';

export type ContainerKind = 'ephemeral' | 'init' | 'app';

/** Why a container is stopped; a failed probe may have its own grace period. */
export type StopCause = 'liveness' | 'startup' | 'other';

export type StopContainer = {
  readonly do: 'stop-container';
  readonly id: ContainerId;
  readonly name: string;
  readonly why: string;
  readonly cause: StopCause;
};

export type StartAction =
  /** `replaces`: a container that never ran; it is removed and its restart count reused. */
  | {
      readonly do: 'start-container';
      readonly name: string;
      readonly kind: ContainerKind;
      readonly replaces?: ContainerId;
    }
  /** A container that was created but not started, because the kubelet was killed in between. */
  | {
      readonly do: 'start-created';
      readonly name: string;
      readonly kind: ContainerKind;
      readonly id: ContainerId;
    }
  /** A running container whose postStart hook was interrupted: the hook runs again. */
  | {
      readonly do: 'finish-start';
      readonly name: string;
      readonly kind: ContainerKind;
      readonly id: ContainerId;
    };

/** A running container that gets other resources. */
export interface ContainerResize {
  readonly id: ContainerId;
  readonly name: string;
  readonly desired: ResizeAmounts;
  /** The resources it was last given. */
  readonly current: ResizeAmounts;
}

/** Resizes the pod's cgroup and its running containers to the allocated resources, in the order of the lists. */
export type ResizePod = {
  readonly do: 'resize-pod';
  readonly memory: readonly ContainerResize[];
  readonly cpu: readonly ContainerResize[];
  /** The pod's cgroup is resized in both resources, also if no running container changes. */
  readonly podCgroup: boolean;
  /** The pod-level resources have changed and are recorded afterwards. */
  readonly podLevel: boolean;
};

/** Kills and removes all init and regular containers, stage by stage; the next sync starts them again in the same sandbox. */
export type ResetContainers = {
  readonly do: 'reset-containers';
  readonly stages: readonly (readonly ContainerId[])[];
};

export type PodAction =
  /** Stops every container and sandbox of the pod. */
  | { readonly do: 'stop-pod'; readonly why: string }
  /** Removes the init containers of an earlier sandbox: the new sandbox runs them again. */
  | { readonly do: 'remove-containers'; readonly ids: readonly ContainerId[] }
  /** `changed`: the pod had a sandbox before. */
  | { readonly do: 'create-sandbox'; readonly attempt: number; readonly changed: boolean }
  | StopContainer
  | ResetContainers
  | ResizePod
  | StartAction;

/** Undefined where resizes are not allowed: the gate is off. */
export interface ResizeView {
  /** The resources that a container was last given; undefined when there is no record. */
  actuated(container: string): ResourceRequirements | undefined;
  /**
   * The pod-level resources that the pod's cgroup was last given: null for none, undefined when there is no record. Absent
   * when pod-level resources are not resized in place.
   */
  readonly podLevel?: { readonly actuated: ResourceRequirements | null | undefined } | undefined;
}

export interface DecideOptions {
  readonly probes?: Pick<ProbeResultsView, 'get'> | undefined;
  /** Feature gate ContainerRestartRules. */
  readonly restartRules?: boolean | undefined;
  /** Feature gate RestartAllContainersOnContainerExits. */
  readonly restartAll?: boolean | undefined;
  /** The resources of running containers; undefined where they cannot be resized. */
  readonly resize?: ResizeView | undefined;
  /** Containers whose postStart hook has not succeeded. */
  readonly unfinishedHooks?: { has(id: ContainerId): boolean } | undefined;
}
