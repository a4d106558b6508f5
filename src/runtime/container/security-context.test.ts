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
    ['default', {}, { network: pod, ipc: pod, pid: container }],
    ['host network', { hostNetwork: true }, { network: node, ipc: pod, pid: container }],
    ['host IPC', { hostIPC: true }, { network: pod, ipc: node, pid: container }],
    ['host PID', { hostPID: true }, { network: pod, ipc: pod, pid: node }],
    ['shared process namespace', { shareProcessNamespace: true }, { network: pod, ipc: pod, pid: pod }],
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
    ['not set', {}, {}, root, undefined],
    [
      'set by the pod, image runs as root',
      {},
      { runAsNonRoot: true },
      root,
      `container has runAsNonRoot and image will run as root ${where}`,
    ],
    [
      'set by the container, image runs as root',
      { runAsNonRoot: true },
      {},
      root,
      `container has runAsNonRoot and image will run as root ${where}`,
    ],
    ['the container overrides the pod', { runAsNonRoot: false }, { runAsNonRoot: true }, root, undefined],
    ['image has a numeric user', { runAsNonRoot: true }, {}, user, undefined],
    [
      'image has a user name',
      { runAsNonRoot: true },
      {},
      named,
      `container has runAsNonRoot and image has non-numeric user (app), cannot verify user is non-root ${where}`,
    ],
    ['runAsUser of the container', { runAsNonRoot: true, runAsUser: 5 }, {}, root, undefined],
    ['runAsUser of the pod', {}, { runAsNonRoot: true, runAsUser: 5 }, named, undefined],
    [
      'runAsUser is root',
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
    ['not set', undefined, undefined, false, { profileType: unconfined }],
    ['not set, with seccompDefault', undefined, undefined, true, { profileType: runtimeDefault }],
    ['set by the pod', undefined, { type: 'RuntimeDefault' }, false, { profileType: runtimeDefault }],
    [
      'the container overrides the pod',
      { type: 'Unconfined' },
      { type: 'RuntimeDefault' },
      true,
      { profileType: unconfined },
    ],
    [
      'a Localhost profile',
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
  test('fails for a Localhost profile without a name', () => {
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
      "the container's user before the pod's",
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
      'groups with the Strict policy',
      {},
      { supplementalGroupsPolicy: 'Strict' },
      root,
      { supplementalGroups: [], supplementalGroupsPolicy: 1 },
    ],
    ['privileged', { privileged: true }, {}, root, { privileged: true }],
    ['allows privilege escalation by default', {}, {}, root, { noNewPrivs: false }],
    ['forbids privilege escalation', { allowPrivilegeEscalation: false }, {}, root, { noNewPrivs: true }],
    ['unmasked /proc', { procMount: 'Unmasked' }, {}, root, { maskedPaths: [], readonlyPaths: [] }],
    [
      'AppArmor of the pod',
      {},
      { appArmorProfile: { type: 'RuntimeDefault' } },
      root,
      { apparmor: { profileType: 0 }, apparmorProfile: 'runtime/default' },
    ],
    [
      "the container's AppArmor profile before the pod's",
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

test('the AppArmor annotation ranks between container and pod; an invalid one is ignored', () => {
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

test('an ephemeral container joins the PID namespace of its target, unless the pod shares one', () => {
  const options = (over: PodOver): unknown =>
    containerSecurityContext({ ...input(aPod(over), aContainer()), targetId: 't' }, seccomp).namespaceOptions;
  expect(options({})).toMatchObject({ pid: 3, targetId: 't' });
  expect(options({ shareProcessNamespace: true })).not.toHaveProperty('targetId');
});

test('the groups of persistent volumes follow those of the pod', () => {
  const pod = aPod({ securityContext: { fsGroup: 1, supplementalGroups: [2] } });
  expect(sandboxSecurityContext(pod, undefined, [3]).supplementalGroups).toEqual([1n, 2n, 3n]);
});

test('rejects an unknown supplementalGroupsPolicy', () => {
  const pod = aPod({ securityContext: { supplementalGroupsPolicy: 'Never' } });
  expect(() => sandboxSecurityContext(pod, undefined)).toThrow('unsupported supplementalGroupsPolicy: Never');
});

test('a sandbox is privileged if one of its containers is', () => {
  const privileged = aContainer({ name: 'd', securityContext: { privileged: true } });
  expect(sandboxSecurityContext(aPod(), undefined).privileged).toBe(false);
  expect(sandboxSecurityContext(aPod({ containers: [aContainer(), privileged] }), undefined).privileged).toBe(
    true,
  );
  expect(sandboxSecurityContext(aPod({ initContainers: [privileged] }), undefined).privileged).toBe(true);
});
