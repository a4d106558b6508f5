// What a kind of volume does on a node. Every function is idempotent and reads the state from the machine.
import type { VolumeRecord } from '../volume-store.ts';

export interface Usage {
  readonly total: number;
  readonly used: number;
  readonly available: number;
}

export interface KindOfVolume {
  /** Makes the volume available on this node and creates its contents. Returns the directory or device to mount. */
  attach(volume: VolumeRecord): Promise<string>;
  /** Reverts attach(); keeps the contents. */
  detach(volume: VolumeRecord): Promise<void>;
  /** Mounts what attach() returned. */
  mount(source: string, path: string, flags: readonly string[]): Promise<void>;
  /** Whether the uppermost mount at the path is this volume. */
  isMountedAt(volume: VolumeRecord, path: string): boolean;
  /** Whether what stage() did at the path is still in effect. */
  isStagedAt(volume: VolumeRecord, path: string): boolean;
  /** Called after the first mount that can be written to. */
  mark(volume: VolumeRecord, path: string): void;
  /** Grows an attached volume and its file system to this size. */
  grow(volume: VolumeRecord, bytes: number): Promise<void>;
  usage(volume: VolumeRecord, path: string): Promise<{ readonly bytes: Usage; readonly inodes?: Usage }>;
  /** Removes what attach() left outside of the volume's folder. */
  destroy(volume: VolumeRecord): Promise<void>;
}

/** The file that every new file system gets; a block device begins with the same text. */
export const markerName = 'csi-volume.json';

export function markerText({ handle, kind }: VolumeRecord): string {
  return `${JSON.stringify({ handle, kind })}\n`;
}
