import { expect, test } from 'vitest';
import { podCgroupPlaces, systemCgroups } from './node-cgroups.ts';

const names = (over: Partial<Parameters<typeof systemCgroups>[0]> = {}): readonly string[] =>
  systemCgroups({
    kubelet: '',
    runtime: '',
    system: '',
    pods: undefined,
    ownCgroup: () => undefined,
    startedAtMs: 5,
    ...over,
  }).map(({ name, path }) => `${name} ${path}`);

const cases = [
  ['nothing is configured and nothing is known', {}, []],
  ['the kubelet runs in the root cgroup', { ownCgroup: () => '/' }, []],
  ['the kubelet runs in its own', { ownCgroup: () => '/kubelet' }, ['kubelet /kubelet']],
  ['the configured cgroup takes precedence', { kubelet: '/a', ownCgroup: () => '/b' }, ['kubelet /a']],
  [
    'all',
    { kubelet: '/a', runtime: '/b', system: '/c', pods: '/d' },
    ['kubelet /a', 'runtime /b', 'misc /c', 'pods /d'],
  ],
] as const;
for (const [name, over, want] of cases)
  test(`systemCgroups: ${name}`, () => expect(names(over)).toEqual(want));

test('podCgroupPlaces: names the classes and reads the UID from a cgroup', () => {
  const places = podCgroupPlaces(['kubepods'], {
    path: (parts) => `/${parts.join('/')}`,
    nameOf: (path) => path.split('/').slice(1),
  });
  expect([places.root, places.classes, places.uidOf('/kubepods/podu1'), places.uidOf('/kubepods/x')]).toEqual(
    ['/kubepods', ['/kubepods', '/kubepods/burstable', '/kubepods/besteffort'], 'u1', undefined],
  );
});
