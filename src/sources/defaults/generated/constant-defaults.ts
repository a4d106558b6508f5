// Code generated from tools/kubernetes/types.txt (Kubernetes v1.37.0-rc.1) by `make generate`. DO NOT EDIT.

type Constants = Readonly<Record<string, string | number | boolean>>;

/** By struct. ifAbsent: fields that may have their zero value. ifEmpty: fields whose zero value means absent. */
export const constantDefaults: Readonly<
  Record<string, { readonly ifAbsent: Constants; readonly ifEmpty: Constants }>
> = {
  AzureDiskVolumeSource: { ifAbsent: { cachingMode: "ReadWrite", fsType: "ext4", readOnly: false, kind: "Shared" }, ifEmpty: {} },
  ConfigMapVolumeSource: { ifAbsent: { defaultMode: 420 }, ifEmpty: {} },
  Container: { ifAbsent: {}, ifEmpty: { terminationMessagePath: "/dev/termination-log", terminationMessagePolicy: "File" } },
  ContainerPort: { ifAbsent: {}, ifEmpty: { protocol: "TCP" } },
  DownwardAPIVolumeSource: { ifAbsent: { defaultMode: 420 }, ifEmpty: {} },
  EphemeralContainer: { ifAbsent: {}, ifEmpty: { terminationMessagePath: "/dev/termination-log", terminationMessagePolicy: "File" } },
  FileKeySelector: { ifAbsent: { optional: false }, ifEmpty: {} },
  GRPCAction: { ifAbsent: { service: "" }, ifEmpty: {} },
  HTTPGetAction: { ifAbsent: {}, ifEmpty: { path: "/", scheme: "HTTP" } },
  HostPathVolumeSource: { ifAbsent: { type: "" }, ifEmpty: {} },
  ISCSIVolumeSource: { ifAbsent: {}, ifEmpty: { iscsiInterface: "default" } },
  ObjectFieldSelector: { ifAbsent: {}, ifEmpty: { apiVersion: "v1" } },
  PersistentVolumeClaimSpec: { ifAbsent: { volumeMode: "Filesystem" }, ifEmpty: {} },
  PodSpec: { ifAbsent: { terminationGracePeriodSeconds: 30, enableServiceLinks: true }, ifEmpty: { restartPolicy: "Always", dnsPolicy: "ClusterFirst", schedulerName: "default-scheduler" } },
  Probe: { ifAbsent: {}, ifEmpty: { timeoutSeconds: 1, periodSeconds: 10, successThreshold: 1, failureThreshold: 3 } },
  ProjectedVolumeSource: { ifAbsent: { defaultMode: 420 }, ifEmpty: {} },
  RBDVolumeSource: { ifAbsent: {}, ifEmpty: { pool: "rbd", user: "admin", keyring: "/etc/ceph/keyring" } },
  ScaleIOVolumeSource: { ifAbsent: {}, ifEmpty: { storageMode: "ThinProvisioned", fsType: "xfs" } },
  SecretVolumeSource: { ifAbsent: { defaultMode: 420 }, ifEmpty: {} },
  ServiceAccountTokenProjection: { ifAbsent: { expirationSeconds: 3600 }, ifEmpty: {} },
};
