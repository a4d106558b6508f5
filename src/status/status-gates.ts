// The feature gates that decide which fields a status has, by upstream's names. Types and defaults only.
export interface StatusGates {
  readonly PodObservedGenerationTracking: boolean;
  readonly PodReadyToStartContainersCondition: boolean;
  readonly ContainerRestartRules: boolean;
  readonly ContainerStopSignals: boolean;
  readonly SupplementalGroupsPolicy: boolean;
  readonly InPlacePodVerticalScaling: boolean;
}

/** Upstream's defaults of the supported version. */
export const defaultStatusGates: StatusGates = {
  PodObservedGenerationTracking: true,
  PodReadyToStartContainersCondition: true,
  ContainerRestartRules: false,
  ContainerStopSignals: false,
  SupplementalGroupsPolicy: true,
  InPlacePodVerticalScaling: true,
};
