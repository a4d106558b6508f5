// The texts of image garbage collection that users see in events. Pure. Upstream: image_gc_manager.go.
import { formatDurationMs } from '../../api/k8s/duration.ts';
import { joinedFailure, runtimeText } from '../pull-error.ts';
import type { SpaceGoal } from './compute-removals.ts';

export const invalidCapacity = 'invalid capacity 0 on image filesystem';

export function insufficientSpace(
  { usagePercent }: SpaceGoal,
  capacityBytes: number,
  freedBytes: number,
): string {
  return (
    `Insufficient free disk space on the node's image filesystem (${usagePercent}% of ${formatSize(capacityBytes)} used). ` +
    `Failed to free sufficient space by deleting unused images (freed ${freedBytes} bytes). ` +
    'Investigate disk usage, as it could be used by active images, logs, volumes, or other data.'
  );
}

export function spaceFailure(goalBytes: number, freedBytes: number, failures: readonly unknown[]): string {
  return `wanted to free ${goalBytes} bytes, but freed ${freedBytes} bytes space with errors in image deletion: ${joined(failures)}`;
}

export function ageFailure(maxAgeMs: number, failures: readonly unknown[]): string {
  return `wanted to free images older than ${formatDurationMs(maxAgeMs)}, encountered errors in image deletion: ${joined(failures)}`;
}

function joined(failures: readonly unknown[]): string {
  return runtimeText(joinedFailure(failures));
}

const units = ['KiB', 'MiB', 'GiB', 'TiB'] as const;

function formatSize(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  const power = Math.min(units.length, Math.floor(Math.log2(bytes) / 10));
  return `${(bytes / 1024 ** power).toFixed(1)} ${units[power - 1]}`;
}
