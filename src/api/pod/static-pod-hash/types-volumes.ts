// The Go types of the internal pod: volumes and projections. Data only, in the format of read-types.ts.
// The order of the fields is the order of hashing, so a line changes only with the API version. Upstream: pkg/apis/core/types.go (v1.37).

export const volumeTypes = `
Volume Name VolumeSource:VolumeSource=.
VolumeSource HostPath:*HostPathVolumeSource EmptyDir:*EmptyDirVolumeSource
  GCEPersistentDisk:*GCEPersistentDiskVolumeSource AWSElasticBlockStore:*AWSElasticBlockStoreVolumeSource
  GitRepo:*GitRepoVolumeSource Secret:*SecretVolumeSource NFS:*NFSVolumeSource ISCSI:*ISCSIVolumeSource
  Glusterfs:*GlusterfsVolumeSource PersistentVolumeClaim:*PersistentVolumeClaimVolumeSource
  RBD:*RBDVolumeSource FlexVolume:*FlexVolumeSource Cinder:*CinderVolumeSource
  CephFS:*CephFSVolumeSource=cephfs Flocker:*FlockerVolumeSource DownwardAPI:*DownwardAPIVolumeSource
  FC:*FCVolumeSource AzureFile:*AzureFileVolumeSource ConfigMap:*ConfigMapVolumeSource
  VsphereVolume:*VsphereVirtualDiskVolumeSource Quobyte:*QuobyteVolumeSource AzureDisk:*AzureDiskVolumeSource
  PhotonPersistentDisk:*PhotonPersistentDiskVolumeSource Projected:*ProjectedVolumeSource
  PortworxVolume:*PortworxVolumeSource ScaleIO:*ScaleIOVolumeSource StorageOS:*StorageOSVolumeSource=storageos
  CSI:*CSIVolumeSource Ephemeral:*EphemeralVolumeSource Image:*ImageVolumeSource
HostPathVolumeSource Path Type:*HostPathType
EmptyDirVolumeSource Medium:StorageMedium SizeLimit:*resource.Quantity Mode:*int32
GCEPersistentDiskVolumeSource PDName FSType Partition:int32 ReadOnly:bool
AWSElasticBlockStoreVolumeSource VolumeID FSType Partition:int32 ReadOnly:bool
GitRepoVolumeSource Repository Revision Directory
SecretVolumeSource SecretName Items:[]KeyToPath DefaultMode:*int32 Optional:*bool DefaultUser:*int64
KeyToPath Key Path Mode:*int32 User:*int64
NFSVolumeSource Server Path ReadOnly:bool
ISCSIVolumeSource TargetPortal IQN Lun:int32 ISCSIInterface FSType ReadOnly:bool Portals:[]string
  DiscoveryCHAPAuth:bool=chapAuthDiscovery SessionCHAPAuth:bool=chapAuthSession
  SecretRef:*LocalObjectReference InitiatorName:*string
GlusterfsVolumeSource EndpointsName=endpoints Path ReadOnly:bool
PersistentVolumeClaimVolumeSource ClaimName ReadOnly:bool
RBDVolumeSource CephMonitors:[]string=monitors RBDImage=image FSType RBDPool=pool RadosUser=user Keyring
  SecretRef:*LocalObjectReference ReadOnly:bool
QuobyteVolumeSource Registry Volume ReadOnly:bool User Group Tenant
FlexVolumeSource Driver FSType SecretRef:*LocalObjectReference ReadOnly:bool Options:map[string]string
CinderVolumeSource VolumeID FSType ReadOnly:bool SecretRef:*LocalObjectReference
CephFSVolumeSource Monitors:[]string Path User SecretFile SecretRef:*LocalObjectReference ReadOnly:bool
FlockerVolumeSource DatasetName DatasetUUID
DownwardAPIVolumeSource Items:[]DownwardAPIVolumeFile DefaultMode:*int32 DefaultUser:*int64
DownwardAPIVolumeFile Path FieldRef:*ObjectFieldSelector ResourceFieldRef:*ResourceFieldSelector Mode:*int32
  User:*int64
FCVolumeSource TargetWWNs:[]string Lun:*int32 FSType ReadOnly:bool WWIDs:[]string=wwids
AzureFileVolumeSource SecretName ShareName ReadOnly:bool
ConfigMapVolumeSource LocalObjectReference:LocalObjectReference=. Items:[]KeyToPath DefaultMode:*int32
  Optional:*bool DefaultUser:*int64
VsphereVirtualDiskVolumeSource VolumePath FSType StoragePolicyName StoragePolicyID
AzureDiskVolumeSource DiskName DataDiskURI=diskURI CachingMode:*AzureDataDiskCachingMode FSType:*string
  ReadOnly:*bool Kind:*AzureDataDiskKind
PhotonPersistentDiskVolumeSource PdID FSType
ProjectedVolumeSource Sources:[]VolumeProjection DefaultMode:*int32 DefaultUser:*int64
VolumeProjection Secret:*SecretProjection DownwardAPI:*DownwardAPIProjection ConfigMap:*ConfigMapProjection
  ServiceAccountToken:*ServiceAccountTokenProjection ClusterTrustBundle:*ClusterTrustBundleProjection
  PodCertificate:*PodCertificateProjection
SecretProjection LocalObjectReference:LocalObjectReference=. Items:[]KeyToPath Optional:*bool
DownwardAPIProjection Items:[]DownwardAPIVolumeFile
ConfigMapProjection LocalObjectReference:LocalObjectReference=. Items:[]KeyToPath Optional:*bool
ServiceAccountTokenProjection Audience ExpirationSeconds:*int64 Path User:*int64
ClusterTrustBundleProjection Name:*string SignerName:*string LabelSelector:*v1.LabelSelector Optional:*bool
  Path User:*int64
PodCertificateProjection SignerName KeyType MaxExpirationSeconds:*int32 CredentialBundlePath KeyPath
  CertificateChainPath UserAnnotations:map[string]string User:*int64
PortworxVolumeSource VolumeID FSType ReadOnly:bool
ScaleIOVolumeSource Gateway System SecretRef:*LocalObjectReference SSLEnabled:bool ProtectionDomain
  StoragePool StorageMode VolumeName FSType ReadOnly:bool
StorageOSVolumeSource VolumeName VolumeNamespace FSType ReadOnly:bool SecretRef:*LocalObjectReference
CSIVolumeSource Driver ReadOnly:*bool FSType:*string VolumeAttributes:map[string]string
  NodePublishSecretRef:*LocalObjectReference
EphemeralVolumeSource VolumeClaimTemplate:*PersistentVolumeClaimTemplate
PersistentVolumeClaimTemplate ObjectMeta:v1.ObjectMeta=metadata Spec:PersistentVolumeClaimSpec
PersistentVolumeClaimSpec AccessModes:[]PersistentVolumeAccessMode Selector:*v1.LabelSelector
  Resources:VolumeResourceRequirements VolumeName StorageClassName:*string VolumeMode:*PersistentVolumeMode
  DataSource:*TypedLocalObjectReference DataSourceRef:*TypedObjectReference VolumeAttributesClassName:*string
VolumeResourceRequirements Limits:ResourceList Requests:ResourceList
TypedLocalObjectReference APIGroup:*string Kind Name
TypedObjectReference APIGroup:*string Kind Name Namespace:*string
ImageVolumeSource Reference PullPolicy:PullPolicy
`;
