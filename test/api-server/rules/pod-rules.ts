// The server's rules for pods: defaults, the volume of the service account token, and graceful deletion.
// Upstream: pkg/registry/core/pod (strategy.go), plugin/pkg/admission/serviceaccount.

import type { Pod, Volume } from '../../../src/api/k8s/types.ts';
import { computePodQosClass } from '../../../src/api/pod/qos.ts';
import { defaultPod } from '../../../src/sources/defaults/pod-defaults.ts';
import type { StoredObject } from '../objects/stored-object.ts';

const tokenSeconds = 3607;
const mountPath = '/var/run/secrets/kubernetes.io/serviceaccount';
const mirrorAnnotation = 'kubernetes.io/config.mirror';

/** `suffix` is part of the token volume's name: five letters, as the server generates them. */
export function preparePod(
  given: Pod,
  options: { readonly automount: boolean; readonly suffix: string },
): Pod {
  const isMirror = given.metadata?.annotations?.[mirrorAnnotation] !== undefined;
  const pod = defaultPod(given);
  const spec = pod.spec ?? { containers: [] };
  if (!isMirror) {
    spec.serviceAccountName ||= 'default';
    spec.serviceAccount = spec.serviceAccountName;
    if (options.automount && spec.automountServiceAccountToken !== false) addTokenVolume(pod, options.suffix);
    addTolerations(pod);
    spec.priority ??= 0;
    spec.preemptionPolicy ??= 'PreemptLowerPriority';
  }
  return {
    ...pod,
    metadata: { ...pod.metadata, generation: 1 },
    status: { phase: 'Pending', qosClass: computePodQosClass(pod) },
  };
}

function addTokenVolume(pod: Pod, suffix: string): void {
  const spec = pod.spec ?? { containers: [] };
  const name = `kube-api-access-${suffix}`;
  const without = [...(spec.initContainers ?? []), ...spec.containers].filter(
    (container) => !(container.volumeMounts ?? []).some((mount) => mount.mountPath === mountPath),
  );
  if (without.length === 0) return;
  for (const container of without) {
    container.volumeMounts = [...(container.volumeMounts ?? []), { name, readOnly: true, mountPath }];
  }
  const volume: Volume = {
    name,
    projected: {
      defaultMode: 0o644,
      sources: [
        { serviceAccountToken: { expirationSeconds: tokenSeconds, path: 'token' } },
        { configMap: { name: 'kube-root-ca.crt', items: [{ key: 'ca.crt', path: 'ca.crt' }] } },
        {
          downwardAPI: {
            items: [{ path: 'namespace', fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.namespace' } }],
          },
        },
      ],
    },
  };
  spec.volumes = [...(spec.volumes ?? []), volume];
}

/** A pod tolerates a node that is not ready or not reachable for five minutes. */
function addTolerations(pod: Pod): void {
  const spec = pod.spec ?? { containers: [] };
  const have = spec.tolerations ?? [];
  const keys = ['node.kubernetes.io/not-ready', 'node.kubernetes.io/unreachable'];
  const missing = keys.filter((key) => !have.some((each) => each.key === key || each.key === undefined));
  spec.tolerations = [
    ...have,
    ...missing.map((key) => ({ key, operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 300 })),
  ];
}

/** The grace period of a deletion; 0 if no kubelet has to confirm it. */
export function podDeletionGrace(pod: Pod, requestedSeconds: number | undefined): number {
  const ended = pod.status?.phase === 'Failed' || pod.status?.phase === 'Succeeded';
  if ((pod.spec?.nodeName ?? '') === '' || ended) return 0;
  const own = pod.spec?.terminationGracePeriodSeconds ?? 30;
  // A negative grace period counts as one second, as upstream.
  return requestedSeconds === undefined ? Math.max(0, own) : requestedSeconds < 0 ? 1 : requestedSeconds;
}

/** The pod after binding. The generation stays, since binding is not a change of the spec by a user. */
export function boundPod(object: StoredObject, nodeName: string, now: string): StoredObject {
  const pod = object as Pod;
  const scheduled = { type: 'PodScheduled', status: 'True', lastProbeTime: null, lastTransitionTime: now };
  const others = (pod.status?.conditions ?? []).filter(({ type }) => type !== 'PodScheduled');
  return {
    ...object,
    spec: { ...pod.spec, nodeName },
    status: {
      ...pod.status,
      conditions: [...others, { ...scheduled, observedGeneration: pod.metadata?.generation ?? 1 }],
    },
  };
}
