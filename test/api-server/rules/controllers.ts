// The controllers of the control plane, as far as kubelets and kubectl notice them: default objects of a namespace,
// scheduling, the taint of nodes that are not ready, signing of kubelets' and pods' certificates.
// Upstream: pkg/controller/{serviceaccount,certificates,nodelifecycle}, pkg/scheduler.
// Invariant: controllers never write inside another write: they act in a turn of their own, on the state at that time.
import type { Node, Pod, Taint } from '../../../src/api/k8s/types.ts';
import type { ClusterObjects } from '../objects/cluster-objects.ts';
import type { Change, ObjectStore } from '../objects/object-store.ts';
import { type CertificateOptions, handleRequest } from './certificate-controllers.ts';
import { handlePodRequest, type PodSigner } from './pod-signer.ts';

interface ControllersDeps {
  readonly store: ObjectStore;
  readonly objects: ClusterObjects;
  readonly schedule: boolean;
  readonly sign: ((csrPem: string, signerName: string, seconds: number) => string) | undefined;
  readonly certificates: CertificateOptions;
  readonly podSigner: PodSigner | undefined;
  readonly caPem: string;
  readonly now: () => string;
}

export interface Controllers {
  stop(): void;
}

const namespaces = ['default', 'kube-system', 'kube-public', 'kube-node-lease'] as const;

export function startControllers(deps: ControllersDeps): Controllers {
  const { store, objects } = deps;
  for (const name of namespaces) {
    objects.create('namespaces', { metadata: { name, labels: { 'kubernetes.io/metadata.name': name } } });
    fillNamespace(deps, name);
  }
  objects.create('services', {
    metadata: {
      name: 'kubernetes',
      namespace: 'default',
      labels: { component: 'apiserver', provider: 'kubernetes' },
    },
    spec: {
      type: 'ClusterIP',
      clusterIP: '10.96.0.1',
      clusterIPs: ['10.96.0.1'],
      ports: [{ name: 'https', protocol: 'TCP', port: 443, targetPort: 6443 }],
      sessionAffinity: 'None',
    },
  });
  let stopped = false;
  const unsubscribe = store.subscribe((change) => {
    queueMicrotask(() => {
      if (!stopped) react(deps, change);
    });
  });
  return {
    stop: () => {
      stopped = true;
      unsubscribe();
    },
  };
}

function react(deps: ControllersDeps, { type, after }: Change): void {
  const { objects, schedule } = deps;
  const name = after?.metadata.name ?? '';
  if (type.plural === 'namespaces' && after !== undefined && after.metadata.deletionTimestamp === undefined)
    fillNamespace(deps, name);
  if (type.plural === 'nodes' && after !== undefined) {
    keepReadyTaint(objects, name);
    if (schedule) for (const pod of objects.list('pods')) schedulePod(objects, pod);
  }
  if (type.plural === 'pods' && after !== undefined && schedule) schedulePod(objects, after as Pod);
  const { sign } = deps;
  if (type.plural === 'certificatesigningrequests' && after !== undefined && sign !== undefined) {
    handleRequest({ objects, sign, options: deps.certificates, now: deps.now }, name);
  }
  const { caPem, now, podSigner } = deps;
  if (type.plural === 'podcertificaterequests' && after !== undefined && podSigner !== undefined)
    handlePodRequest({ objects, signer: podSigner, caPem, now }, after.metadata.namespace ?? '', name);
}

function fillNamespace({ objects, caPem }: ControllersDeps, namespace: string): void {
  if (objects.get('serviceaccounts', namespace, 'default') === undefined) {
    objects.create('serviceaccounts', { metadata: { name: 'default', namespace } });
  }
  if (objects.get('configmaps', namespace, 'kube-root-ca.crt') === undefined) {
    objects.create('configmaps', {
      metadata: { name: 'kube-root-ca.crt', namespace },
      data: { 'ca.crt': caPem },
    });
  }
}

function isReady(node: Node): boolean {
  return (node.status?.conditions ?? []).some(({ type, status }) => type === 'Ready' && status === 'True');
}

function keepReadyTaint(objects: ClusterObjects, name: string): void {
  const node = objects.get('nodes', '', name);
  if (node === undefined) return;
  const taints = node.spec?.taints ?? [];
  const others = taints.filter(({ key }) => key !== 'node.kubernetes.io/not-ready');
  const want: Taint[] = isReady(node)
    ? others
    : [...others, { key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' }];
  if (want.length === taints.length) return;
  objects.patch('nodes', '', name, { spec: { taints: want.length === 0 ? null : want } });
}

function schedulePod(objects: ClusterObjects, given: Pod): void {
  const { namespace = '', name = '' } = given.metadata ?? {};
  const pod = objects.get('pods', namespace, name);
  if (pod === undefined || (pod.spec?.nodeName ?? '') !== '') return;
  if (pod.metadata?.deletionTimestamp !== undefined || (pod.spec?.schedulingGates ?? []).length > 0) return;
  const node = objects.list('nodes').find((each) => isReady(each) && takes(each, pod));
  if (node !== undefined) objects.bind(namespace, name, node.metadata?.name ?? '');
}

function takes(node: Node, pod: Pod): boolean {
  if (node.spec?.unschedulable === true) return false;
  const tolerations = pod.spec?.tolerations ?? [];
  const tolerated = (node.spec?.taints ?? [])
    .filter(({ effect }) => effect !== 'PreferNoSchedule')
    .every((taint) =>
      tolerations.some(
        ({ key, effect, operator, value }) =>
          (key === undefined || key === taint.key) &&
          (effect === undefined || effect === taint.effect) &&
          (operator === 'Exists' || (value ?? '') === (taint.value ?? '')),
      ),
    );
  const labels = node.metadata?.labels ?? {};
  return (
    tolerated && Object.entries(pod.spec?.nodeSelector ?? {}).every(([key, value]) => labels[key] === value)
  );
}
