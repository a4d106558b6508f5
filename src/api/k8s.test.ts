// The proof here is that this file compiles: the types carry every field that 1.31 to 1.34 added.
import { expect, test } from 'vitest';
import type { ContainerStatus, NodeStatus, Pod, PodStatus } from './k8s.ts';

test('a manifest with every newer field has a type', () => {
  const pod: Pod = {
    spec: {
      hostnameOverride: 'h',
      resources: { limits: { cpu: '1' }, claims: [{ name: 'c', request: 'r' }] },
      resourceClaims: [{ name: 'c', resourceClaimName: 'x', resourceClaimTemplateName: 'y' }],
      securityContext: { supplementalGroupsPolicy: 'Strict', seLinuxChangePolicy: 'Recursive' },
      containers: [
        {
          name: 'app',
          restartPolicy: 'Never',
          restartPolicyRules: [{ action: 'Restart', exitCodes: { operator: 'In', values: [42] } }],
          lifecycle: { stopSignal: 'SIGUSR1', preStop: { sleep: { seconds: 1 } } },
          env: [{ name: 'A', valueFrom: { fileKeyRef: { volumeName: 'v', path: 'p', key: 'k' } } }],
          volumeMounts: [{ name: 'v', mountPath: '/v', recursiveReadOnly: 'IfPossible' }],
        },
      ],
      ephemeralContainers: [{ name: 'e', restartPolicyRules: [] }],
      volumes: [
        { name: 'i', image: { reference: 'r', pullPolicy: 'Always' } },
        {
          name: 'p',
          projected: {
            sources: [
              { podCertificate: { signerName: 's', keyType: 'ED25519', credentialBundlePath: 'b' } },
              { clusterTrustBundle: { path: 'ca.pem', signerName: 's' } },
            ],
          },
        },
      ],
    },
  };
  const container: ContainerStatus = {
    name: 'app',
    image: '',
    imageID: '',
    ready: true,
    restartCount: 0,
    allocatedResources: { cpu: '1' },
    allocatedResourcesStatus: [{ name: 'x', resources: [{ resourceID: 'd', health: 'Healthy' }] }],
    resources: {},
    stopSignal: 'SIGTERM',
    user: { linux: { uid: 0, gid: 0, supplementalGroups: [1] } },
    volumeMounts: [{ name: 'v', mountPath: '/v', readOnly: true, recursiveReadOnly: 'Enabled' }],
  };
  const status: PodStatus = {
    observedGeneration: 1,
    resize: '',
    conditions: [{ type: 'Ready', status: 'True', observedGeneration: 1 }],
    containerStatuses: [container],
    extendedResourceClaimStatus: { resourceClaimName: 'c', requestMappings: [] },
  };
  const node: NodeStatus = {
    features: { supplementalGroupsPolicy: true },
    runtimeHandlers: [{ name: '', features: { userNamespaces: true, recursiveReadOnlyMounts: true } }],
  };
  expect([pod, status, node].every((object) => JSON.stringify(object).length > 2)).toBe(true);
});
