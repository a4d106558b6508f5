// The Go types of the internal pod: pod spec and containers. Data only, in the format of read-types.ts.
// The order of the fields is the order of hashing, so a line changes only with the API version. Upstream: pkg/apis/core/types.go (v1.37).

export const podTypes = `
Pod TypeMeta:v1.TypeMeta=- ObjectMeta:v1.ObjectMeta=metadata Spec:PodSpec Status:PodStatus
PodSpec Volumes:[]Volume InitContainers:[]Container Containers:[]Container
  EphemeralContainers:[]EphemeralContainer RestartPolicy:RestartPolicy TerminationGracePeriodSeconds:*int64
  ActiveDeadlineSeconds:*int64 DNSPolicy:DNSPolicy NodeSelector:map[string]string ServiceAccountName
  DeprecatedServiceAccount=serviceAccount AutomountServiceAccountToken:*bool NodeName HostNetwork:bool
  HostPID:bool HostIPC:bool ShareProcessNamespace:*bool SecurityContext:*PodSecurityContext
  ImagePullSecrets:[]LocalObjectReference Hostname Subdomain Affinity:*Affinity SchedulerName
  Tolerations:[]Toleration HostAliases:[]HostAlias PriorityClassName Priority:*int32 DNSConfig:*PodDNSConfig
  ReadinessGates:[]PodReadinessGate RuntimeClassName:*string EnableServiceLinks:*bool
  PreemptionPolicy:*PreemptionPolicy Overhead:ResourceList
  TopologySpreadConstraints:[]TopologySpreadConstraint SetHostnameAsFQDN:*bool OS:*PodOS HostUsers:*bool
  SchedulingGates:[]PodSchedulingGate ResourceClaims:[]PodResourceClaim Resources:*ResourceRequirements
  HostnameOverride:*string SchedulingGroup:*PodSchedulingGroup EvictionResponders:[]EvictionResponder
PodSchedulingGroup PodGroupName:*string
EvictionResponder Name Priority:*int32
LocalObjectReference Name
ObjectFieldSelector APIVersion FieldPath
ResourceFieldSelector ContainerName Resource Divisor:resource.Quantity
v1.LabelSelector MatchLabels:map[string]string MatchExpressions:[]v1.LabelSelectorRequirement
v1.LabelSelectorRequirement Key Operator:v1.LabelSelectorOperator Values:[]string
Container Name Image Command:[]string Args:[]string WorkingDir Ports:[]ContainerPort EnvFrom:[]EnvFromSource
  Env:[]EnvVar Resources:ResourceRequirements ResizePolicy:[]ContainerResizePolicy
  RestartPolicy:*ContainerRestartPolicy RestartPolicyRules:[]ContainerRestartRule VolumeMounts:[]VolumeMount
  VolumeDevices:[]VolumeDevice LivenessProbe:*Probe ReadinessProbe:*Probe StartupProbe:*Probe
  Lifecycle:*Lifecycle TerminationMessagePath TerminationMessagePolicy:TerminationMessagePolicy
  ImagePullPolicy:PullPolicy SecurityContext:*SecurityContext Stdin:bool StdinOnce:bool TTY:bool
ContainerPort Name HostPort:int32 ContainerPort:int32 Protocol:Protocol HostIP
EnvFromSource Prefix ConfigMapRef:*ConfigMapEnvSource SecretRef:*SecretEnvSource
ConfigMapEnvSource LocalObjectReference:LocalObjectReference=. Optional:*bool
SecretEnvSource LocalObjectReference:LocalObjectReference=. Optional:*bool
EnvVar Name Value ValueFrom:*EnvVarSource
EnvVarSource FieldRef:*ObjectFieldSelector ResourceFieldRef:*ResourceFieldSelector
  ConfigMapKeyRef:*ConfigMapKeySelector SecretKeyRef:*SecretKeySelector FileKeyRef:*FileKeySelector
ConfigMapKeySelector LocalObjectReference:LocalObjectReference=. Key Optional:*bool
SecretKeySelector LocalObjectReference:LocalObjectReference=. Key Optional:*bool
FileKeySelector VolumeName Path Key Optional:*bool
ResourceRequirements Limits:ResourceList Requests:ResourceList Claims:[]ResourceClaim
ResourceClaim Name Request
ContainerResizePolicy ResourceName:ResourceName RestartPolicy:ResourceResizeRestartPolicy
ContainerRestartRule Action:ContainerRestartRuleAction ExitCodes:*ContainerRestartRuleOnExitCodes
ContainerRestartRuleOnExitCodes Operator:ContainerRestartRuleOnExitCodesOperator Values:[]int32
VolumeMount Name ReadOnly:bool RecursiveReadOnly:*RecursiveReadOnlyMode MountPath SubPath
  MountPropagation:*MountPropagationMode SubPathExpr BindMountOptions:[]string
VolumeDevice Name DevicePath
Probe ProbeHandler:ProbeHandler=. InitialDelaySeconds:int32 TimeoutSeconds:int32 PeriodSeconds:int32
  SuccessThreshold:int32 FailureThreshold:int32 TerminationGracePeriodSeconds:*int64
ProbeHandler Exec:*ExecAction HTTPGet:*HTTPGetAction TCPSocket:*TCPSocketAction GRPC:*GRPCAction
ExecAction Command:[]string
HTTPGetAction Path Port:intstr.IntOrString Host Scheme:URIScheme HTTPHeaders:[]HTTPHeader
  Protocol:*HTTPProtocol
HTTPHeader Name Value
TCPSocketAction Port:intstr.IntOrString Host
GRPCAction Port:int32 Service:*string Mode:*GRPCProbeMode
Lifecycle PostStart:*LifecycleHandler PreStop:*LifecycleHandler StopSignal:*Signal
LifecycleHandler Exec:*ExecAction HTTPGet:*HTTPGetAction TCPSocket:*TCPSocketAction Sleep:*SleepAction
SleepAction Seconds:int64
SecurityContext Capabilities:*Capabilities Privileged:*bool SELinuxOptions:*SELinuxOptions
  WindowsOptions:*WindowsSecurityContextOptions RunAsUser:*int64 RunAsGroup:*int64 RunAsNonRoot:*bool
  ReadOnlyRootFilesystem:*bool AllowPrivilegeEscalation:*bool ProcMount:*ProcMountType
  SeccompProfile:*SeccompProfile AppArmorProfile:*AppArmorProfile
Capabilities Add:[]Capability Drop:[]Capability
SELinuxOptions User Role Type Level
WindowsSecurityContextOptions GMSACredentialSpecName:*string GMSACredentialSpec:*string RunAsUserName:*string
  HostProcess:*bool
SeccompProfile Type:SeccompProfileType LocalhostProfile:*string
AppArmorProfile Type:AppArmorProfileType LocalhostProfile:*string
EphemeralContainer EphemeralContainerCommon:EphemeralContainerCommon=. TargetContainerName
EphemeralContainerCommon Name Image Command:[]string Args:[]string WorkingDir Ports:[]ContainerPort
  EnvFrom:[]EnvFromSource Env:[]EnvVar Resources:ResourceRequirements ResizePolicy:[]ContainerResizePolicy
  RestartPolicy:*ContainerRestartPolicy RestartPolicyRules:[]ContainerRestartRule VolumeMounts:[]VolumeMount
  VolumeDevices:[]VolumeDevice LivenessProbe:*Probe ReadinessProbe:*Probe StartupProbe:*Probe
  Lifecycle:*Lifecycle TerminationMessagePath TerminationMessagePolicy:TerminationMessagePolicy
  ImagePullPolicy:PullPolicy SecurityContext:*SecurityContext Stdin:bool StdinOnce:bool TTY:bool
PodSecurityContext SELinuxOptions:*SELinuxOptions WindowsOptions:*WindowsSecurityContextOptions
  RunAsUser:*int64 RunAsGroup:*int64 RunAsNonRoot:*bool SupplementalGroups:[]int64
  SupplementalGroupsPolicy:*SupplementalGroupsPolicy FSGroup:*int64 Sysctls:[]Sysctl
  FSGroupChangePolicy:*PodFSGroupChangePolicy SeccompProfile:*SeccompProfile AppArmorProfile:*AppArmorProfile
  SELinuxChangePolicy:*PodSELinuxChangePolicy
Sysctl Name Value
Affinity NodeAffinity:*NodeAffinity PodAffinity:*PodAffinity PodAntiAffinity:*PodAntiAffinity
NodeAffinity RequiredDuringSchedulingIgnoredDuringExecution:*NodeSelector
  PreferredDuringSchedulingIgnoredDuringExecution:[]PreferredSchedulingTerm
NodeSelector NodeSelectorTerms:[]NodeSelectorTerm
NodeSelectorTerm MatchExpressions:[]NodeSelectorRequirement MatchFields:[]NodeSelectorRequirement
NodeSelectorRequirement Key Operator:NodeSelectorOperator Values:[]string
PreferredSchedulingTerm Weight:int32 Preference:NodeSelectorTerm
PodAffinity RequiredDuringSchedulingIgnoredDuringExecution:[]PodAffinityTerm
  PreferredDuringSchedulingIgnoredDuringExecution:[]WeightedPodAffinityTerm
PodAffinityTerm LabelSelector:*v1.LabelSelector Namespaces:[]string TopologyKey
  NamespaceSelector:*v1.LabelSelector MatchLabelKeys:[]string MismatchLabelKeys:[]string
WeightedPodAffinityTerm Weight:int32 PodAffinityTerm:PodAffinityTerm
PodAntiAffinity RequiredDuringSchedulingIgnoredDuringExecution:[]PodAffinityTerm
  PreferredDuringSchedulingIgnoredDuringExecution:[]WeightedPodAffinityTerm
Toleration Key Operator:TolerationOperator Value Effect:TaintEffect TolerationSeconds:*int64
HostAlias IP Hostnames:[]string
PodDNSConfig Nameservers:[]string Searches:[]string Options:[]PodDNSConfigOption
PodDNSConfigOption Name Value:*string
PodReadinessGate ConditionType:PodConditionType
TopologySpreadConstraint MaxSkew:int32 TopologyKey WhenUnsatisfiable:UnsatisfiableConstraintAction
  LabelSelector:*v1.LabelSelector MinDomains:*int32 NodeAffinityPolicy:*NodeInclusionPolicy
  NodeTaintsPolicy:*NodeInclusionPolicy MatchLabelKeys:[]string
PodOS Name:OSName
PodSchedulingGate Name
PodResourceClaim Name ResourceClaimName:*string ResourceClaimTemplateName:*string
`;
