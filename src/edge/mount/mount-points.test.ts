import { expect, test } from 'vitest';
import { referencesIn } from './mount-points.ts';

const line = (id: number, device: string, root: string, point: string): string =>
  `${id} 1 ${device} ${root} ${point} rw,relatime shared:1 - ext4 /dev/x rw`;
const table = [
  line(20, '8:1', '/', '/'),
  line(21, '7:0', '/', '/root/plugins/g'),
  line(22, '7:0', '/', '/root/pods/a/mount'),
  line(23, '7:0', '/sub', '/root/pods/b/mount'),
  line(24, '7:1', '/', '/root/pods/c/mount'),
].join('\n');

test('finds the other mounts of the same file system and directory', () => {
  expect(referencesIn(table, '/root/plugins/g')).toEqual(['/root/pods/a/mount']);
  expect(referencesIn(table, '/root/pods/c/mount')).toEqual([]);
  expect(referencesIn(table, '/not/mounted')).toEqual([]);
});
