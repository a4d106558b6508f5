// The Go types of the internal pod: volumes and projections. Data only, in the format of read-types.ts.
// The order of the fields is the order of hashing, so a line changes only with the API version. Upstream: pkg/apis/core/types.go (v1.34).

export const volumeTypes = `
Volume Name VolumeSource:VolumeSource=.
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
HostPathVolumeSource Path Type:*HostPathType
EmptyDirVolumeSource Medium:StorageMedium SizeLimit:*resource.Quantity
GCEPersistentDiskVolumeSource PDName FSType Partition:int32 ReadOnly:bool
AWSElasticBlockStoreVolumeSource VolumeID FSType Partition:int32 ReadOnly:bool
GitRepoVolumeSource Repository Revision Directory
SecretVolumeSource SecretName Items:[]KeyToPath DefaultMode:*int32 Optional:*bool
KeyToPath Key Path Mode:*int32
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
DownwardAPIVolumeSource Items:[]DownwardAPIVolumeFile DefaultMode:*int32
DownwardAPIVolumeFile Path FieldRef:*ObjectFieldSelector ResourceFieldRef:*ResourceFieldSelector Mode:*int32
FCVolumeSource TargetWWNs:[]string Lun:*int32 FSType ReadOnly:bool WWIDs:[]string=wwids
AzureFileVolumeSource SecretName ShareName ReadOnly:bool
ConfigMapVolumeSource LocalObjectReference:LocalObjectReference=. Items:[]KeyToPath DefaultMode:*int32
  Optional:*bool
VsphereVirtualDiskVolumeSource VolumePath FSType StoragePolicyName StoragePolicyID
AzureDiskVolumeSource DiskName DataDiskURI=diskURI CachingMode:*AzureDataDiskCachingMode FSType:*string
  ReadOnly:*bool Kind:*AzureDataDiskKind
PhotonPersistentDiskVolumeSource PdID FSType
ProjectedVolumeSource Sources:[]VolumeProjection DefaultMode:*int32
VolumeProjection Secret:*SecretProjection DownwardAPI:*DownwardAPIProjection ConfigMap:*ConfigMapProjection
  ServiceAccountToken:*ServiceAccountTokenProjection ClusterTrustBundle:*ClusterTrustBundleProjection
  PodCertificate:*PodCertificateProjection
SecretProjection LocalObjectReference:LocalObjectReference=. Items:[]KeyToPath Optional:*bool
DownwardAPIProjection Items:[]DownwardAPIVolumeFile
ConfigMapProjection LocalObjectReference:LocalObjectReference=. Items:[]KeyToPath Optional:*bool
ServiceAccountTokenProjection Audience ExpirationSeconds:int64 Path
ClusterTrustBundleProjection Name:*string SignerName:*string LabelSelector:*v1.LabelSelector Optional:*bool
  Path
PodCertificateProjection SignerName KeyType MaxExpirationSeconds:*int32 CredentialBundlePath KeyPath
  CertificateChainPath
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
