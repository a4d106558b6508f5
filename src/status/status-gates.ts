// The feature gates that decide which fields a status has, by upstream's names. Types and defaults only.
export interface StatusGates {
  readonly PodObservedGenerationTracking: boolean;
  readonly PodReadyToStartContainersCondition: boolean;
  readonly ContainerRestartRules: boolean;
  readonly RestartAllContainersOnContainerExits: boolean;
  readonly ContainerStopSignals: boolean;
  readonly SupplementalGroupsPolicy: boolean;
  readonly InPlacePodVerticalScaling: boolean;
  readonly InPlacePodLevelResourcesVerticalScaling: boolean;
  readonly PodLevelResources: boolean;
}

/** Upstream's defaults of the supported version. */
export const defaultStatusGates: StatusGates = {
  PodObservedGenerationTracking: true,
  PodReadyToStartContainersCondition: true,
  ContainerRestartRules: true,
  RestartAllContainersOnContainerExits: true,
  ContainerStopSignals: false,
  SupplementalGroupsPolicy: true,
  InPlacePodVerticalScaling: true,
  InPlacePodLevelResourcesVerticalScaling: true,
  PodLevelResources: true,
};
