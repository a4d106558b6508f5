import { describe, expect, test } from 'vitest';
import { aContainer, aPod, type PodOver } from '../../../test/builders/builders.ts';
import { featureRejection, updateProblem } from './required-features.ts';

const missing = (...names: readonly string[]): string =>
  `Pod requires node features that are not available: ${names.join(', ')}`;

describe('featureRejection', () => {
  const restartAll = aContainer({
    restartPolicy: 'Never',
    restartPolicyRules: [{ action: 'RestartAllContainers', exitCodes: { operator: 'In', values: [1] } }],
  });
  const restart = aContainer({
    restartPolicy: 'Never',
    restartPolicyRules: [{ action: 'Restart', exitCodes: { operator: 'In', values: [1] } }],
  });
  const withOptions = aContainer({
    volumeMounts: [{ name: 'v', mountPath: '/v', bindMountOptions: ['noexec'] }],
  });
  const cases: readonly (readonly [string, PodOver, readonly string[], string | undefined])[] = [
    ['a plain pod', {}, [], undefined],
    [
      'RestartAllContainers',
      { containers: [restartAll] },
      [],
      missing('RestartAllContainersOnContainerExits'),
    ],
    [
      'RestartAllContainers of an init container',
      { initContainers: [restartAll] },
      [],
      missing('RestartAllContainersOnContainerExits'),
    ],
    [
      'RestartAllContainers, declared',
      { containers: [restartAll] },
      ['RestartAllContainersOnContainerExits'],
      undefined,
    ],
    ['another rule', { containers: [restart] }, [], undefined],
    [
      'the host network with a user namespace',
      { hostNetwork: true, hostUsers: false },
      [],
      missing('UserNamespacesHostNetworkSupport'),
    ],
    ['the host network', { hostNetwork: true }, [], undefined],
    ['options of a bind mount', { containers: [withOptions] }, [], missing('VolumeBindMountOptions')],
    [
      'two features',
      { hostNetwork: true, hostUsers: false, containers: [withOptions] },
      [],
      missing('UserNamespacesHostNetworkSupport', 'VolumeBindMountOptions'),
    ],
  ];
  for (const [name, over, declared, want] of cases)
    test(name, () =>
      expect(featureRejection(aPod(over), declared)).toEqual(
        want === undefined ? undefined : { reason: 'PodFeatureUnsupported', message: want },
      ),
    );
});

describe('updateProblem', () => {
  const sized = (cpu: string) => ({ resources: { requests: { cpu } } });
  const memory = (sizeLimit: string, medium = 'Memory'): PodOver => ({
    volumes: [{ name: 'v', emptyDir: { medium, sizeLimit } }],
  });
  const cases: readonly (readonly [string, PodOver, PodOver, readonly string[], string | undefined])[] = [
    ['no change', {}, {}, [], undefined],
    ['pod-level resources', sized('1'), sized('2'), [], missing('InPlacePodLevelResourcesVerticalScaling')],
    [
      'pod-level resources, declared',
      sized('1'),
      sized('2'),
      ['InPlacePodLevelResourcesVerticalScaling'],
      undefined,
    ],
    [
      'resources of an init container',
      { initContainers: [aContainer(sized('1'))] },
      { initContainers: [aContainer(sized('2'))] },
      [],
      missing('InPlacePodVerticalScalingInitContainers'),
    ],
    [
      'resources of a sidecar',
      { initContainers: [aContainer({ ...sized('1'), restartPolicy: 'Always' })] },
      { initContainers: [aContainer({ ...sized('2'), restartPolicy: 'Always' })] },
      [],
      undefined,
    ],
    [
      'resources of a container',
      { containers: [aContainer(sized('1'))] },
      { containers: [aContainer(sized('2'))] },
      [],
      undefined,
    ],
    [
      'the size of a memory volume',
      memory('1Gi'),
      memory('2Gi'),
      [],
      missing('InPlacePodVerticalScalingMemoryBackedVolumes'),
    ],
    ['the same size in other words', memory('1Gi'), memory('1024Mi'), [], undefined],
    ['the size of a volume on disk', memory('1Gi', ''), memory('2Gi', ''), [], undefined],
  ];
  for (const [name, before, after, declared, want] of cases)
    test(name, () => expect(updateProblem(aPod(before), aPod(after), declared)).toBe(want));
});
