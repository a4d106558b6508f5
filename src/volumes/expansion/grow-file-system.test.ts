import { expect, test } from 'vitest';
import { aPod } from '../../../test/builders/builders.ts';
import { aVolumeSpec } from '../../../test/builders/volume-requests.ts';
import { KubeletError } from '../../base/errors.ts';
import { expandFailureOf } from './expansion-failure.ts';
import { fileSystemExpansion } from './grow-file-system.ts';

function setUp(device: string | undefined, grow: () => Promise<void> = () => Promise.resolve()) {
  const grown: string[] = [];
  const growFileSystem = async (growth: { device: string; mountPath: string }): Promise<void> => {
    grown.push(`${growth.device} ${growth.mountPath}`);
    await grow();
  };
  const plugin = fileSystemExpansion({ growFileSystem }, () => Promise.resolve(device));
  const expand = (isBlock = false): Promise<bigint> =>
    plugin.expand(
      { pod: aPod(), spec: aVolumeSpec({}, { isBlock }), path: '/mounted', sizeBytes: 7n },
      new AbortController().signal,
    );
  return { grown, expand };
}

test('grows the file system of the device where it is mounted', async () => {
  const { expand, grown } = setUp('/dev/vdb');
  expect(await expand()).toBe(7n);
  expect(grown).toEqual(['/dev/vdb /mounted']);
});

test.each([
  ['a directory', undefined, false],
  ['a device without a mounted file system', '/dev/vdb', true],
])('leaves %s as it is', async (_, device, isBlock) => {
  const { expand, grown } = setUp(device);
  expect(await expand(isBlock)).toBe(7n);
  expect(grown).toEqual([]);
});

test('fails for good if the file system cannot be resized', async () => {
  const unsupported = new KubeletError(
    'invalid',
    'UnsupportedResize',
    'resize of format vfat is not supported',
  );
  const { expand } = setUp('/dev/vdb', () => Promise.reject(unsupported));
  const err = await expand().catch((reason: unknown) => reason);
  expect(expandFailureOf(err)).toBe('final');
});
