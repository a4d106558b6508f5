import { expect, test } from 'vitest';
import { FakeClock } from '../../../test/fakes/fake-clock.ts';
import { ImageFsInfoResponse } from '../../api/cri/generated/runtime/v1/api.ts';
import { KubeletError } from '../../base/errors.ts';
import { imageFsReader } from './image-fs.ts';

const { signal } = new AbortController();
const space = { capacityBytes: 1000, availableBytes: 100 };
type Parts = Parameters<typeof imageFsReader>[0];

function reader(over: Partial<Parts> = {}, mountpoint: string | undefined = '/images') {
  const clock = new FakeClock();
  const fsId = mountpoint === undefined ? undefined : { mountpoint };
  const info = ImageFsInfoResponse.fromPartial({ imageFilesystems: [{ ...(fsId && { fsId }) }] });
  const images = { imageFsInfo: async () => info };
  return { clock, fs: imageFsReader({ images, space: async () => space, clock, ...over }) };
}

test('measures the first image file system', async () => {
  const paths: string[] = [];
  const { fs } = reader({
    space: async (path) => {
      paths.push(path);
      return space;
    },
  });
  expect(await fs.imageFs(signal)).toEqual(space);
  expect(paths).toEqual(['/images']);
});

test('a runtime that does not name the file system', async () => {
  expect(await reader({}, '').fs.imageFs(signal)).toBeUndefined();
  const none = { imageFsInfo: async () => ImageFsInfoResponse.fromPartial({}) };
  await expect(reader({ images: none }).fs.imageFs(signal)).rejects.toThrow(
    'imageFs information is unavailable',
  );
});

test('a file system that cannot be read', async () => {
  const { fs } = reader({ space: () => Promise.reject(new Error('no such file or directory')) });
  await expect(fs.imageFs(signal)).rejects.toThrow(
    'get filesystem info: Failed to get the info of the filesystem with mountpoint: no such file or directory',
  );
});

test.each<[string, Partial<Parts>]>([
  ['file system', { space: () => new Promise(() => undefined) }],
  ['runtime', { images: { imageFsInfo: () => new Promise(() => undefined) } }],
])('a %s that hangs costs one deadline', async (_, parts) => {
  const { clock, fs } = reader(parts);
  const read = fs.imageFs(signal).catch((err: unknown) => err);
  await clock.advance(20_000);
  expect(await read).toBeInstanceOf(KubeletError);
  expect(clock.pendingTimers()).toBe(0);
});
