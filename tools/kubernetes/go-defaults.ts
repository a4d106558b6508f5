// Constant defaults that only Go code sets; OpenAPI does not have them. Kept by hand: compare pkg/apis/core/v1/defaults.go when
// following a release. Defaults that depend on other fields or on feature gates are code in src/sources/defaults.
// Invariant: every struct and field exists in the table, and OpenAPI has no default for it; the generator checks both.
const mode644 = 0o644;
const hourSeconds = 3600;

const container = { terminationMessagePath: '/dev/termination-log', terminationMessagePolicy: 'File' };

export type GoDefaults = Readonly<Record<string, Readonly<Record<string, string | number | boolean>>>>;

export const goDefaults: GoDefaults = {
  'core/v1.ConfigMapVolumeSource': { defaultMode: mode644 },
  'core/v1.Container': container,
  'core/v1.DownwardAPIVolumeSource': { defaultMode: mode644 },
  'core/v1.EphemeralContainer': container,
  'core/v1.HTTPGetAction': { path: '/', scheme: 'HTTP' },
  'core/v1.HostPathVolumeSource': { type: '' },
  'core/v1.ObjectFieldSelector': { apiVersion: 'v1' },
  'core/v1.PersistentVolumeClaimSpec': { volumeMode: 'Filesystem' },
  'core/v1.PodSpec': {
    restartPolicy: 'Always',
    terminationGracePeriodSeconds: 30,
    dnsPolicy: 'ClusterFirst',
    schedulerName: 'default-scheduler',
    enableServiceLinks: true,
  },
  'core/v1.Probe': { timeoutSeconds: 1, periodSeconds: 10, successThreshold: 1, failureThreshold: 3 },
  'core/v1.ProjectedVolumeSource': { defaultMode: mode644 },
  'core/v1.SecretVolumeSource': { defaultMode: mode644 },
  'core/v1.ServiceAccountTokenProjection': { expirationSeconds: hourSeconds },
};
