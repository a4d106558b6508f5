import { describe, expect, test } from 'vitest';
import { aContainer, aPod, type PodOver } from '../../../test/builders/builders.ts';
import type { Container, Pod } from '../../api/k8s/types.ts';
import {
  containerSecurityContext,
  type ImageUser,
  namespaceOptions,
  runAsNonRootViolation,
  type SecurityInput,
  sandboxSecurityContext,
} from './security-context.ts';

const root: ImageUser = { uid: 0n, username: '' };
const user: ImageUser = { uid: 1000n, username: '' };
const named: ImageUser = { uid: undefined, username: 'app' };
const seccomp = { profileRoot: '/root/seccomp', defaultToRuntime: false };
const of = (
  own: Container['securityContext'],
  ofPod: PodOver['securityContext'] = {},
): { pod: Pod; container: Container } => {
  const container = aContainer(own === undefined ? {} : { securityContext: own });
  return { pod: aPod({ securityContext: ofPod, containers: [container] }), container };
};

const input = (pod: Pod, container: Container, imageUser = root): SecurityInput => ({
  pod,
  container,
  imageUser,
  users: { mode: 2 },
});

describe('namespaces', () => {
  const [pod, container, node] = [0, 1, 2] as const;
  const cases: readonly (readonly [string, PodOver, object])[] = [
    ['of its own', {}, { network: pod, ipc: pod, pid: container }],
    ['host network', { hostNetwork: true }, { network: node, ipc: pod, pid: container }],
    ['host IPC', { hostIPC: true }, { network: pod, ipc: node, pid: container }],
    ['host PID', { hostPID: true }, { network: pod, ipc: pod, pid: node }],
    ['processes shared', { shareProcessNamespace: true }, { network: pod, ipc: pod, pid: pod }],
  ];
  for (const [name, over, want] of cases) {
    test(name, () =>
      expect(namespaceOptions(aPod(over), { mode: node })).toEqual({
        ...want,
        usernsOptions: { mode: node },
      }),
    );
  }
});

describe('run as non-root', () => {
  const where = '(pod: "p_default(uid-p)", container: c)';
  const cases: readonly (readonly [
    string,
    Container['securityContext'],
    PodOver['securityContext'],
    ImageUser,
    string | undefined,
  ])[] = [
    ['not asked', {}, {}, root, undefined],
    [
      'asked by the pod, image is root',
      {},
      { runAsNonRoot: true },
      root,
      `container has runAsNonRoot and image will run as root ${where}`,
    ],
    [
      'asked by the container, image is root',
      { runAsNonRoot: true },
      {},
      root,
      `container has runAsNonRoot and image will run as root ${where}`,
    ],
    ['the container overrules the pod', { runAsNonRoot: false }, { runAsNonRoot: true }, root, undefined],
    ['image has a user', { runAsNonRoot: true }, {}, user, undefined],
    [
      'image has a name for one',
      { runAsNonRoot: true },
      {},
      named,
      `container has runAsNonRoot and image has non-numeric user (app), cannot verify user is non-root ${where}`,
    ],
    ['another user is asked for', { runAsNonRoot: true, runAsUser: 5 }, {}, root, undefined],
    ['another user of the pod', {}, { runAsNonRoot: true, runAsUser: 5 }, named, undefined],
    [
      'root is asked for',
      { runAsNonRoot: true, runAsUser: 0 },
      { runAsUser: 5 },
      user,
      `container's runAsUser breaks non-root policy ${where}`,
    ],
  ];
  for (const [name, own, ofPod, image, want] of cases) {
    test(name, () => {
      const { pod, container } = of(own, ofPod);
      expect(runAsNonRootViolation(pod, container, image)).toBe(want);
    });
  }
});

describe('seccomp', () => {
  const [runtimeDefault, unconfined, localhost] = [0, 1, 2];
  const cases: readonly (readonly [string, object | undefined, object | undefined, boolean, object])[] = [
    ['none', undefined, undefined, false, { profileType: unconfined }],
    ['none, the node defaults', undefined, undefined, true, { profileType: runtimeDefault }],
    ['of the pod', undefined, { type: 'RuntimeDefault' }, false, { profileType: runtimeDefault }],
    [
      'the container overrules',
      { type: 'Unconfined' },
      { type: 'RuntimeDefault' },
      true,
      { profileType: unconfined },
    ],
    [
      'a file of the node',
      { type: 'Localhost', localhostProfile: 'a/./b.json' },
      undefined,
      false,
      { profileType: localhost, localhostRef: '/root/seccomp/a/b.json' },
    ],
  ];
  for (const [name, own, ofPod, defaultToRuntime, want] of cases) {
    test(name, () => {
      const profile = (value: object | undefined): object =>
        value === undefined ? {} : { seccompProfile: value };
      const { pod, container } = of(profile(own), profile(ofPod));
      const got = containerSecurityContext(input(pod, container), { ...seccomp, defaultToRuntime });
      expect(got.seccomp).toEqual(want);
    });
  }
  test('a file without a name is an error', () => {
    const { pod, container } = of({ seccompProfile: { type: 'Localhost' } });
    expect(() => containerSecurityContext(input(pod, container), seccomp)).toThrow(
      'localhostProfile must be set if seccompProfile type is Localhost.',
    );
  });
});

describe('containers', () => {
  const cases: readonly (readonly [
    string,
    Container['securityContext'],
    PodOver['securityContext'],
    ImageUser,
    object,
  ])[] = [
    ['the user of the image', {}, {}, user, { runAsUser: { value: 1000n }, runAsUsername: '' }],
    ['the user name of the image', {}, {}, named, { runAsUser: undefined, runAsUsername: 'app' }],
    [
      'the user of the pod',
      {},
      { runAsUser: 7, runAsGroup: 8 },
      named,
      { runAsUser: { value: 7n }, runAsUsername: '', runAsGroup: { value: 8n } },
    ],
    [
      'its own before it',
      { runAsUser: 0, runAsGroup: 9 },
      { runAsUser: 7, runAsGroup: 8 },
      user,
      { runAsUser: { value: 0n }, runAsGroup: { value: 9n } },
    ],
    [
      'groups',
      {},
      { fsGroup: 1, supplementalGroups: [2, 3] },
      root,
      { supplementalGroups: [1n, 2n, 3n], supplementalGroupsPolicy: 0 },
    ],
    [
      'groups, strictly',
      {},
      { supplementalGroupsPolicy: 'Strict' },
      root,
      { supplementalGroups: [], supplementalGroupsPolicy: 1 },
    ],
    ['privileged', { privileged: true }, {}, root, { privileged: true }],
    ['may gain privileges unless told', {}, {}, root, { noNewPrivs: false }],
    ['may not', { allowPrivilegeEscalation: false }, {}, root, { noNewPrivs: true }],
    ['proc unmasked', { procMount: 'Unmasked' }, {}, root, { maskedPaths: [], readonlyPaths: [] }],
    [
      'AppArmor of the pod',
      {},
      { appArmorProfile: { type: 'RuntimeDefault' } },
      root,
      { apparmor: { profileType: 0 }, apparmorProfile: 'runtime/default' },
    ],
    [
      'AppArmor of its own before it',
      { appArmorProfile: { type: 'Localhost', localhostProfile: 'k8s-x' } },
      { appArmorProfile: { type: 'Unconfined' } },
      root,
      { apparmor: { profileType: 2, localhostRef: 'k8s-x' }, apparmorProfile: 'localhost/k8s-x' },
    ],
    ['SELinux of the pod', {}, { seLinuxOptions: { level: 'l' } }, root, { selinuxOptions: { level: 'l' } }],
  ];
  for (const [name, own, ofPod, image, want] of cases) {
    test(name, () => {
      const { pod, container } = of(own, ofPod);
      expect(containerSecurityContext(input(pod, container, image), seccomp)).toMatchObject(want);
    });
  }
});

test('AppArmor by annotation lies between container and pod; what it cannot mean is none', () => {
  const annotations = {
    'container.apparmor.security.beta.kubernetes.io/c': 'localhost/a',
    'container.apparmor.security.beta.kubernetes.io/d': 'something',
  };
  const securityContext = { appArmorProfile: { type: 'Unconfined' } };
  const pod = aPod({ annotations, securityContext });
  const profile = (name: string): unknown =>
    containerSecurityContext(input(pod, aContainer({ name })), seccomp).apparmorProfile;
  expect([profile('c'), profile('d')]).toEqual(['localhost/a', 'unconfined']);
});

test('an ephemeral container sees the processes of its target, unless the pod shares them anyway', () => {
  const options = (over: PodOver): unknown =>
    containerSecurityContext({ ...input(aPod(over), aContainer()), targetId: 't' }, seccomp).namespaceOptions;
  expect(options({})).toMatchObject({ pid: 3, targetId: 't' });
  expect(options({ shareProcessNamespace: true })).not.toHaveProperty('targetId');
});

test('a policy for groups that nobody knows is refused', () => {
  const pod = aPod({ securityContext: { supplementalGroupsPolicy: 'Never' } });
  expect(() => sandboxSecurityContext(pod, undefined)).toThrow('unsupported supplementalGroupsPolicy: Never');
});

test('a sandbox is privileged when one of its containers is', () => {
  const privileged = aContainer({ name: 'd', securityContext: { privileged: true } });
  expect(sandboxSecurityContext(aPod(), undefined).privileged).toBe(false);
  expect(sandboxSecurityContext(aPod({ containers: [aContainer(), privileged] }), undefined).privileged).toBe(
    true,
  );
  expect(sandboxSecurityContext(aPod({ initContainers: [privileged] }), undefined).privileged).toBe(true);
});
