// The Go types of the internal pod: object metadata and the pod status. Data only, in the format of read-types.ts.
// The order of the fields is the order of hashing, so a line changes only with the API version. Upstream: pkg/apis/core/types.go (v1.37) and apimachinery's meta/v1.

export const metaAndStatusTypes = `
v1.TypeMeta Kind APIVersion
v1.ObjectMeta Name GenerateName Namespace SelfLink UID:types.UID ResourceVersion Generation:int64
  CreationTimestamp:v1.Time DeletionTimestamp:*v1.Time DeletionGracePeriodSeconds:*int64
  Labels:map[string]string Annotations:map[string]string OwnerReferences:[]v1.OwnerReference
  Finalizers:[]string ManagedFields:[]v1.ManagedFieldsEntry
v1.OwnerReference APIVersion Kind Name UID:types.UID Controller:*bool BlockOwnerDeletion:*bool
v1.ManagedFieldsEntry Manager Operation:v1.ManagedFieldsOperationType APIVersion Time:*v1.Time FieldsType
  FieldsV1:*v1.FieldsV1 Subresource
PodStatus ObservedGeneration:int64 Phase:PodPhase Conditions:[]PodCondition Message Reason NominatedNodeName
  HostIP HostIPs:[]HostIP PodIP PodIPs:[]PodIP StartTime:*v1.Time InitContainerStatuses:[]ContainerStatus
  ContainerStatuses:[]ContainerStatus QOSClass:PodQOSClass EphemeralContainerStatuses:[]ContainerStatus
  Resize:PodResizeStatus ResourceClaimStatuses:[]PodResourceClaimStatus
  ExtendedResourceClaimStatus:*PodExtendedResourceClaimStatus AllocatedResources:ResourceList
  Resources:*ResourceRequirements NodeAllocatableResourceClaimStatuses:[]NodeAllocatableResourceClaimStatus
  VolumeHealth:[]PodVolumeHealth
NodeAllocatableResourceClaimStatus ResourceClaimName Containers:[]string
  Mapping:[]NodeAllocatableMappedResources Overhead:[]NodeAllocatableOverheadResources
NodeAllocatableMappedResources Name:ResourceName Quantity:*resource.Quantity
NodeAllocatableOverheadResources Name:ResourceName PerPod:*resource.Quantity PerContainer:*resource.Quantity
PodVolumeHealth Name HealthConditions:[]VolumeHealthCondition LastTransitionTime:v1.Time
VolumeHealthCondition Status:VolumeHealthStatusType Reason Message
PodCondition Type:PodConditionType ObservedGeneration:int64 Status:ConditionStatus LastProbeTime:v1.Time
  LastTransitionTime:v1.Time Reason Message
HostIP IP
PodIP IP
ContainerStatus Name State:ContainerState LastTerminationState:ContainerState=lastState Ready:bool
  RestartCount:int32 Image ImageID ContainerID Started:*bool AllocatedResources:ResourceList
  Resources:*ResourceRequirements VolumeMounts:[]VolumeMountStatus User:*ContainerUser
  AllocatedResourcesStatus:[]ResourceStatus StopSignal:*Signal
ContainerState Waiting:*ContainerStateWaiting Running:*ContainerStateRunning
  Terminated:*ContainerStateTerminated
ContainerStateWaiting Reason Message
ContainerStateRunning StartedAt:v1.Time
ContainerStateTerminated ExitCode:int32 Signal:int32 Reason Message StartedAt:v1.Time FinishedAt:v1.Time
  ContainerID
VolumeMountStatus Name MountPath ReadOnly:bool RecursiveReadOnly:*RecursiveReadOnlyMode
  VolumeStatus:*VolumeStatus
VolumeStatus Image:*ImageVolumeStatus
ImageVolumeStatus ImageRef
ContainerUser Linux:*LinuxContainerUser
LinuxContainerUser UID:int64 GID:int64 SupplementalGroups:[]int64
ResourceStatus Name:ResourceName Resources:[]ResourceHealth
ResourceHealth ResourceID:ResourceID Health:ResourceHealthStatus Message:*string
PodResourceClaimStatus Name ResourceClaimName:*string
PodExtendedResourceClaimStatus RequestMappings:[]ContainerExtendedResourceRequest ResourceClaimName
ContainerExtendedResourceRequest ContainerName ResourceName RequestName
`;
