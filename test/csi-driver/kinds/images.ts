// Volumes that are image files behind a loop device: with an ext4, or raw. The device is attached while the volume is staged.
// An ext4 grows while it is mounted, which the kernel permits only to processes with CAP_SYS_RESOURCE.
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { attachLoop, bind, detachLoops, deviceBytes, loopsOf, mountsAt, mustRun } from '../host.ts';
import type { VolumeRecord } from '../volume-store.ts';
import { fileSystemUsage } from './directories.ts';
import { type KindOfVolume, markerName, markerText } from './volume-kind.ts';

type FolderOf = (handle: string) => string;

const imageOf = (folder: FolderOf, { handle }: VolumeRecord): string => join(folder(handle), 'image');

/** Creates the image under another name first, so that an interrupted creation is repeated. */
async function createImage(
  image: string,
  { sizeBytes }: VolumeRecord,
  fill: (fresh: string) => Promise<void>,
): Promise<void> {
  if (existsSync(image)) return;
  mkdirSync(dirname(image), { recursive: true });
  const fresh = `${image}.new`;
  writeFileSync(fresh, '');
  truncateSync(fresh, sizeBytes);
  await fill(fresh);
  renameSync(fresh, image);
}

async function growDevice(image: string, bytes: number): Promise<string> {
  if (statSync(image).size < bytes) truncateSync(image, bytes);
  const device = await attachLoop(image);
  await mustRun('losetup', '--set-capacity', device);
  return device;
}

export function ext4Kind(folder: FolderOf): KindOfVolume {
  const isMountedAt = (volume: VolumeRecord, path: string): boolean => {
    const source = mountsAt(path).at(-1)?.source;
    return source !== undefined && loopsOf(imageOf(folder, volume)).includes(source);
  };
  return {
    async attach(volume) {
      const image = imageOf(folder, volume);
      await createImage(image, volume, async (fresh) => {
        await mustRun('mkfs.ext4', '-q', '-F', '-m', '0', '-E', 'nodiscard', fresh);
      });
      return attachLoop(image);
    },
    detach: (volume) => detachLoops(imageOf(folder, volume)),
    async mount(device, path, flags) {
      const options = flags.length === 0 ? [] : ['-o', flags.join(',')];
      await mustRun('mount', '-t', 'ext4', ...options, device, path);
    },
    isMountedAt,
    isStagedAt: isMountedAt,
    mark(volume, path) {
      if (!existsSync(join(path, markerName))) writeFileSync(join(path, markerName), markerText(volume));
    },
    async grow(volume, bytes) {
      await mustRun('resize2fs', await growDevice(imageOf(folder, volume), bytes));
    },
    usage: async (_volume, path) => fileSystemUsage(path),
    destroy: (volume) => detachLoops(imageOf(folder, volume)),
  };
}

export function blockKind(folder: FolderOf): KindOfVolume {
  return {
    async attach(volume) {
      const image = imageOf(folder, volume);
      await createImage(image, volume, async (fresh) => {
        const file = openSync(fresh, 'r+');
        writeSync(file, markerText(volume));
        closeSync(file);
      });
      return attachLoop(image);
    },
    detach: (volume) => detachLoops(imageOf(folder, volume)),
    mount: bind,
    isMountedAt(volume, path) {
      if (mountsAt(path).length === 0) return false;
      const { rdev } = statSync(path);
      return loopsOf(imageOf(folder, volume)).some((device) => statSync(device).rdev === rdev);
    },
    // Nothing is mounted there: a block device is published from where it is.
    isStagedAt: (volume, path) =>
      volume.staged[path] !== undefined && loopsOf(imageOf(folder, volume)).length > 0,
    mark: () => undefined,
    async grow(volume, bytes) {
      await growDevice(imageOf(folder, volume), bytes);
    },
    async usage(volume) {
      const [device] = loopsOf(imageOf(folder, volume));
      const total = device === undefined ? volume.sizeBytes : deviceBytes(device);
      return { bytes: { total, used: 0, available: 0 } };
    },
    destroy: (volume) => detachLoops(imageOf(folder, volume)),
  };
}

const capSysResource = 24n;

/** Why this process cannot grow a mounted ext4; undefined if it can. */
export function onlineResizeUnavailableReason(): string | undefined {
  const [, effective = '0'] =
    /^CapEff:\s*([0-9a-f]{1,16})$/m.exec(readFileSync('/proc/self/status', 'utf8')) ?? [];
  const has = ((BigInt(`0x${effective}`) >> capSysResource) & 1n) === 1n;
  return has ? undefined : 'growing a mounted ext4 needs CAP_SYS_RESOURCE';
}
