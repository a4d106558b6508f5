// Builders of pods and observations with defaults; a test states only what matters to it.

import type { Container, Pod, PodSpec } from '../../src/api/k8s/types.ts';
import { containerHashText } from '../../src/api/pod/container-hash.ts';
import type { ObservedContainer, ObservedPod, ObservedSandbox } from '../../src/api/pod/observed.ts';
import { asContainerId, asPodUid, asSandboxId } from '../../src/api/pod/pod-ref.ts';

const busybox = 'docker.io/library/busybox:1';

export function aContainer(over: Partial<Container> = {}): Container {
  return {
    name: 'c',
    image: busybox,
    imagePullPolicy: 'IfNotPresent',
    command: ['sleep', '100000'],
    terminationMessagePath: '/dev/termination-log',
    terminationMessagePolicy: 'File',
    ...over,
  };
}

export interface PodOver extends Partial<PodSpec> {
  readonly name?: string;
  readonly namespace?: string;
  readonly uid?: string;
  readonly labels?: Record<string, string>;
  readonly annotations?: Record<string, string>;
}

export function aPod(over: PodOver = {}): Pod {
  const { name = 'p', namespace = 'default', uid = `uid-${name}`, labels, annotations, ...spec } = over;
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name,
      namespace,
      uid,
      ...(labels === undefined ? {} : { labels }),
      ...(annotations === undefined ? {} : { annotations }),
    },
    spec: {
      restartPolicy: 'Always',
      dnsPolicy: 'ClusterFirst',
      terminationGracePeriodSeconds: 30,
      securityContext: {},
      containers: [aContainer()],
      ...spec,
    },
  };
}

export function aSandbox(over: Partial<ObservedSandbox> = {}): ObservedSandbox {
  return {
    id: asSandboxId('sandbox-1'),
    attempt: 0,
    ready: true,
    createdAtMs: 1_000,
    ips: ['10.88.0.2'],
    hostNetwork: false,
    runtimeHandler: '',
    ...over,
  };
}

export function anObservedContainer(over: Partial<ObservedContainer> = {}): ObservedContainer {
  const name = over.name ?? 'c';
  return {
    id: asContainerId(`${name}-1`),
    name,
    sandboxId: asSandboxId('sandbox-1'),
    state: 'running',
    createdAtMs: 2_000,
    startedAtMs: 2_100,
    finishedAtMs: 0,
    exitCode: 0,
    reason: '',
    message: '',
    image: busybox,
    imageRef: 'sha256:1',
    imageId: '',
    hash: containerHashText({ name, image: busybox }),
    restartCount: 0,
    attempt: over.restartCount ?? 0,
    logPath: '',
    terminationGraceSeconds: 30,
    deletionGraceSeconds: undefined,
    ...over,
  };
}

export function exited(exitCode: number, over: Partial<ObservedContainer> = {}): ObservedContainer {
  return anObservedContainer({
    state: 'exited',
    exitCode,
    finishedAtMs: 3_000,
    reason: exitCode === 0 ? 'Completed' : 'Error',
    ...over,
  });
}

export function anObservedPod(over: Partial<ObservedPod> = {}): ObservedPod {
  return {
    uid: asPodUid('uid-p'),
    name: 'p',
    namespace: 'default',
    sandboxes: [aSandbox()],
    containers: [anObservedContainer()],
    observedAtMs: 5_000,
    ...over,
  };
}
