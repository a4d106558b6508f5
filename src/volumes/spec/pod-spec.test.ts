import { expect, test } from 'vitest';
import { aContainer, aPod } from '../../../test/builders/builders.ts';
import type { VolumeMount } from '../../api/k8s/types.ts';
import { nestedMountPoints, usedVolumes, volumeOwner } from './pod-spec.ts';

const at = (name: string, mountPath: string): VolumeMount => ({ name, mountPath });
const mounting = (...volumeMounts: VolumeMount[]) => aPod({ containers: [aContainer({ volumeMounts })] });

const nested: readonly (readonly [string, VolumeMount[], string[]])[] = [
  ['no other mount inside', [at('v', '/a'), at('w', '/b')], []],
  ['one mount inside', [at('v', '/a'), at('w', '/a/b/c')], ['b/c']],
  ['only the outermost of nested mounts', [at('v', '/a'), at('w', '/a/b'), at('x', '/a/b/c')], ['b']],
  [
    'a sibling with the same prefix',
    [at('v', '/a'), at('w', '/ab'), at('x', '/a/b'), at('y', '/a/b-c')],
    ['b', 'b-c'],
  ],
  ['paths that are not normalized', [at('v', '/a/'), at('w', '/a//b/')], ['b']],
  ['the volume inside itself', [at('v', '/a'), at('v', '/a/b')], ['b']],
  ['the volume inside another', [at('w', '/a'), at('v', '/a/b')], []],
];
for (const [name, mounts, want] of nested)
  test(`nestedMountPoints: ${name}`, () => expect(nestedMountPoints(mounting(...mounts), 'v')).toEqual(want));

test('usedVolumes: volumes of init, regular and ephemeral containers', () => {
  const pod = aPod({
    volumes: ['a', 'b', 'c', 'd'].map((name) => ({ name, emptyDir: {} })),
    initContainers: [aContainer({ volumeMounts: [at('a', '/a')] })],
    containers: [aContainer({ volumeDevices: [{ name: 'b', devicePath: '/dev/b' }] })],
    ephemeralContainers: [{ name: 'e', image: 'i', volumeMounts: [at('d', '/d')] }],
  });
  expect(usedVolumes(pod).map(({ name }) => name)).toEqual(['a', 'b', 'd']);
});

const as = (runAsUser: number | undefined) =>
  aContainer(runAsUser === undefined ? {} : { securityContext: { runAsUser } });
const owners = [
  ['none without runAsUser', undefined, [as(undefined)], undefined],
  ['the pod’s runAsUser', 5, [as(undefined), as(undefined)], 5],
  ['the common runAsUser of all containers', undefined, [as(7), as(7)], 7],
  ['none if a container differs', 5, [as(undefined), as(7)], undefined],
  ['none if a container has no runAsUser', undefined, [as(7), as(undefined)], undefined],
] as const;
for (const [name, podUser, containers, want] of owners)
  test(`volumeOwner: ${name}`, () => {
    const securityContext = podUser === undefined ? {} : { runAsUser: podUser };
    expect(volumeOwner(aPod({ securityContext, containers: [...containers] })).user).toBe(want);
  });
