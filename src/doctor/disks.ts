// Judges the file systems of the kubelet: writable, large enough for evictionHard, and shared. Pure.
import { isDisabledThreshold, parsePercentage } from '../api/quantity/eviction-threshold.ts';
import { Quantity } from '../api/quantity/quantity.ts';
import type { DiskFacts, DoctorSettings } from './facts.ts';
import { type Fact, type Finding, fail, ok, warn } from './finding.ts';
import { bytesText } from './units.ts';

type Prefix = 'nodefs' | 'imagefs';

export function judgeDisk(
  disk: Fact<DiskFacts | undefined>,
  directory: string,
  prefix: Prefix,
  { evictionHard }: Pick<DoctorSettings, 'evictionHard'>,
): Finding {
  if (!disk.isKnown)
    return fail(
      `${directory}: ${disk.why}`,
      `stat ${directory}; if it hangs, the file system does not answer: check the disk, or the server of the mount (dmesg)`,
    );
  if (disk.value === undefined) return ok('the runtime does not name the directory of its images');
  const { availableBytes, inodes, inodesFree, isReadOnly, mountPoint, path, totalBytes } = disk.value;
  if (isReadOnly)
    return fail(`${path} is on ${mountPoint}, which is read-only`, `mount -o remount,rw ${mountPoint}`);
  const low = [
    { signal: 'available', free: availableBytes, total: totalBytes, show: bytesText },
    { signal: 'inodesFree', free: inodesFree, total: inodes, show: String },
  ].flatMap(({ free, show, signal, total }) => {
    const name = `${prefix}.${signal}`;
    const least = thresholdOf(evictionHard[name], total);
    if (least === undefined || total === 0n || free >= least) return [];
    return [
      `${show(free)} of ${show(total)} ${signal === 'available' ? 'free' : 'inodes free'}, below ${name} ${evictionHard[name]}`,
    ];
  });
  if (low.length > 0)
    return fail(
      `${path} on ${mountPoint}: ${low.join('; ')}, so the kubelet evicts pods and admits none`,
      `free space: du -xh ${mountPoint} | sort -h | tail, crictl rmi --prune, journalctl --vacuum-size=200M; or change evictionHard`,
    );
  const inodesText = inodes === 0n ? '' : `, ${percent(inodesFree, inodes)} of inodes`;
  return ok(
    `${path} on ${mountPoint}: ${bytesText(availableBytes)} free (${percent(availableBytes, totalBytes)}${inodesText})`,
  );
}

/** Undefined without a threshold, or for one that is disabled or malformed; the validation reports the latter. */
function thresholdOf(text: string | undefined, total: bigint): bigint | undefined {
  if (text === undefined || isDisabledThreshold(text)) return undefined;
  if (!text.endsWith('%')) return quantityOf(text);
  const fraction = parsePercentage(text);
  return fraction === undefined ? undefined : BigInt(Math.floor(Number(total) * fraction));
}

function quantityOf(text: string): bigint | undefined {
  try {
    return Quantity.parse(text).nanos / 1_000_000_000n;
  } catch {
    return undefined;
  }
}

function percent(part: bigint, whole: bigint): string {
  return whole === 0n ? '0 %' : `${Math.floor((Number(part) / Number(whole)) * 100)} %`;
}

export function judgePropagation(
  { isShared, mountPoint }: DiskFacts,
  isPrivileged: boolean,
  rootDir: string,
): Finding {
  if (isShared) return ok(`${mountPoint} is shared`);
  return isPrivileged
    ? ok(`${mountPoint} is private; the kubelet shares ${rootDir} when it starts`)
    : warn(
        `${mountPoint} is private, so mounts of CSI drivers and of containers below ${rootDir} do not reach the host`,
        `mount --make-rshared ${mountPoint}, or start the kubelet as root`,
      );
}
