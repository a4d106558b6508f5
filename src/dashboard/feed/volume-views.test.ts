import { expect, test } from 'vitest';
import { aPod } from '../../../test/builders/builders.ts';
import type { Volume } from '../../api/k8s/types.ts';
import { volumeViews } from './volume-views.ts';

test.each<[Volume, string, string]>([
  [{ name: 'v', configMap: { name: 'settings' } }, 'configMap', 'settings'],
  [{ name: 'v', secret: { secretName: 'key' } }, 'secret', 'key'],
  [{ name: 'v', persistentVolumeClaim: { claimName: 'data' } }, 'persistentVolumeClaim', 'data'],
  [{ name: 'v', hostPath: { path: '/dev' } }, 'hostPath', '/dev'],
  [{ name: 'v', emptyDir: { medium: 'Memory', sizeLimit: '1Gi' } }, 'emptyDir', 'Memory 1Gi'],
  [{ name: 'v', csi: { driver: 'd.example', volumeAttributes: { password: 'x' } } }, 'csi', 'd.example'],
  [{ name: 'v' }, 'emptyDir', ''],
])('names the kind and the source of %j', (volume, kind, detail) => {
  const [view] = volumeViews(aPod({ volumes: [volume] }), new Set(['v']), []);
  expect(view).toEqual({ name: 'v', kind, mounted: true, detail });
});

test('a volume that is not mounted shows what it waits for', () => {
  const volumes = [
    { name: 'v', emptyDir: {} },
    { name: 'v2', emptyDir: {} },
  ];
  const activities = ['volume v2 waits for attachment', 'volume v could not be mounted, 2 attempts: busy'];
  expect(volumeViews(aPod({ volumes }), new Set(), activities).map(({ detail }) => detail)).toEqual([
    'could not be mounted, 2 attempts: busy',
    'waits for attachment',
  ]);
});
