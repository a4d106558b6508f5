import { expect, test } from 'vitest';
import { migratedFields, migratedPlugins } from './migrated-plugins.ts';

test("joined, the plugins are the value of upstream's annotation on the CSINode", () => {
  expect(migratedPlugins.join(',')).toBe(
    'kubernetes.io/aws-ebs,kubernetes.io/azure-disk,kubernetes.io/azure-file,kubernetes.io/cinder,kubernetes.io/gce-pd,kubernetes.io/portworx-volume,kubernetes.io/vsphere-volume',
  );
  expect(migratedPlugins).toStrictEqual([...migratedPlugins].sort());
});

test('each plugin has a field', () => {
  expect(migratedFields.size).toBe(migratedPlugins.length);
  expect(migratedFields.has('nfs')).toBe(false);
});
