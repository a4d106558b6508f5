// The Go types of the internal pod in earlier releases, as changes to those of the next release. Data only.
// A line replaces the struct of that name; a line of `-Field` and `+Field:type` removes and appends fields.
// Fields of the status that no manifest has are left out. Upstream: pkg/apis/core/types.go (v1.31 to v1.36).

interface OlderTypes {
  /** The release `1.minor`. */
  readonly minor: number;
  /** Changes that turn the types of the next release into those of this one. */
  readonly changes: string;
}

/** From the newest release to the oldest. */
export const olderTypes: readonly OlderTypes[] = [
  {
    minor: 36,
    changes: `
PodSpec Volumes:[]Volume InitContainers:[]Container Containers:[]Container
  EphemeralContainers:[]EphemeralContainer RestartPolicy:RestartPolicy TerminationGracePeriodSeconds:*int64
  ActiveDeadlineSeconds:*int64 DNSPolicy:DNSPolicy NodeSelector:map[string]string ServiceAccountName
  AutomountServiceAccountToken:*bool NodeName SecurityContext:*PodSecurityContext
  ImagePullSecrets:[]LocalObjectReference Hostname Subdomain SetHostnameAsFQDN:*bool Affinity:*Affinity
  SchedulerName Tolerations:[]Toleration HostAliases:[]HostAlias PriorityClassName Priority:*int32
  PreemptionPolicy:*PreemptionPolicy DNSConfig:*PodDNSConfig ReadinessGates:[]PodReadinessGate
  RuntimeClassName:*string Overhead:ResourceList EnableServiceLinks:*bool
  TopologySpreadConstraints:[]TopologySpreadConstraint OS:*PodOS SchedulingGates:[]PodSchedulingGate
  ResourceClaims:[]PodResourceClaim Resources:*ResourceRequirements HostnameOverride:*string
  SchedulingGroup:*PodSchedulingGroup
PodSecurityContext HostNetwork:bool HostPID:bool HostIPC:bool ShareProcessNamespace:*bool HostUsers:*bool
  SELinuxOptions:*SELinuxOptions WindowsOptions:*WindowsSecurityContextOptions RunAsUser:*int64
  RunAsGroup:*int64 RunAsNonRoot:*bool SupplementalGroups:[]int64
  SupplementalGroupsPolicy:*SupplementalGroupsPolicy FSGroup:*int64
  FSGroupChangePolicy:*PodFSGroupChangePolicy Sysctls:[]Sysctl SeccompProfile:*SeccompProfile
  AppArmorProfile:*AppArmorProfile SELinuxChangePolicy:*PodSELinuxChangePolicy
PodStatus ObservedGeneration:int64 Phase:PodPhase Conditions:[]PodCondition Message Reason NominatedNodeName
  HostIP HostIPs:[]HostIP PodIPs:[]PodIP StartTime:*v1.Time QOSClass:PodQOSClass
  InitContainerStatuses:[]ContainerStatus ContainerStatuses:[]ContainerStatus
  EphemeralContainerStatuses:[]ContainerStatus Resize:PodResizeStatus
  ResourceClaimStatuses:[]PodResourceClaimStatus ExtendedResourceClaimStatus:*PodExtendedResourceClaimStatus
  AllocatedResources:ResourceList Resources:*ResourceRequirements
  NodeAllocatableResourceClaimStatuses:[]NodeAllocatableResourceClaimStatus
VolumeSource HostPath:*HostPathVolumeSource EmptyDir:*EmptyDirVolumeSource
  GCEPersistentDisk:*GCEPersistentDiskVolumeSource AWSElasticBlockStore:*AWSElasticBlockStoreVolumeSource
  GitRepo:*GitRepoVolumeSource Secret:*SecretVolumeSource NFS:*NFSVolumeSource ISCSI:*ISCSIVolumeSource
  Glusterfs:*GlusterfsVolumeSource PersistentVolumeClaim:*PersistentVolumeClaimVolumeSource
  RBD:*RBDVolumeSource Quobyte:*QuobyteVolumeSource FlexVolume:*FlexVolumeSource Cinder:*CinderVolumeSource
  CephFS:*CephFSVolumeSource=cephfs Flocker:*FlockerVolumeSource DownwardAPI:*DownwardAPIVolumeSource
  FC:*FCVolumeSource AzureFile:*AzureFileVolumeSource ConfigMap:*ConfigMapVolumeSource
  VsphereVolume:*VsphereVirtualDiskVolumeSource AzureDisk:*AzureDiskVolumeSource
  PhotonPersistentDisk:*PhotonPersistentDiskVolumeSource Projected:*ProjectedVolumeSource
  PortworxVolume:*PortworxVolumeSource ScaleIO:*ScaleIOVolumeSource StorageOS:*StorageOSVolumeSource=storageos
  CSI:*CSIVolumeSource Ephemeral:*EphemeralVolumeSource Image:*ImageVolumeSource
ServiceAccountTokenProjection Audience ExpirationSeconds:int64 Path
VolumeMount -BindMountOptions
EmptyDirVolumeSource -Mode
SecretVolumeSource -DefaultUser
DownwardAPIVolumeSource -DefaultUser
ConfigMapVolumeSource -DefaultUser
ProjectedVolumeSource -DefaultUser
KeyToPath -User
DownwardAPIVolumeFile -User
HTTPGetAction -Protocol
GRPCAction -Mode
ClusterTrustBundleProjection -User
PodCertificateProjection -User
`,
  },
  {
    minor: 35,
    changes: `
PodSpec -SchedulingGroup +WorkloadRef:*WorkloadReference
WorkloadReference Name PodGroup PodGroupReplicaKey
PodStatus -NodeAllocatableResourceClaimStatuses
ResourceHealth -Message
VolumeMountStatus -VolumeStatus
`,
  },
  {
    minor: 34,
    changes: `
PodSpec -WorkloadRef
PodStatus -AllocatedResources -Resources
PodCertificateProjection -UserAnnotations
`,
  },
  {
    minor: 33,
    changes: `
Container -RestartPolicyRules
EphemeralContainerCommon -RestartPolicyRules
EnvVarSource -FileKeyRef
PodSpec -HostnameOverride
PodStatus -ExtendedResourceClaimStatus
VolumeProjection -PodCertificate
`,
  },
  {
    minor: 32,
    changes: `
ContainerStatus -StopSignal
Lifecycle -StopSignal
PodCondition -ObservedGeneration
PodStatus -ObservedGeneration
`,
  },
  {
    minor: 31,
    changes: `
PodSpec -Resources
PodSecurityContext -SELinuxChangePolicy
`,
  },
];
