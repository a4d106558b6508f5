// What the CSI plugin is made of.
import type { CsiDrivers } from '../../api/ports/csi.ts';
import type { PodObjects } from '../../api/ports/pod-objects.ts';
import type { StorageObjects } from '../../api/ports/storage-objects.ts';
import type { VolumeLayout } from '../layout.ts';
import type { OwnershipDeps } from '../ownership.ts';
import type { DriverCalls } from './driver-calls.ts';
import type { KnownVolumes } from './known-volumes.ts';

export interface CsiPluginDeps {
  /** The host among them. */
  readonly ownership: OwnershipDeps;
  readonly layout: VolumeLayout;
  readonly drivers: CsiDrivers;
  readonly storage: StorageObjects;
  readonly objects: Pick<PodObjects, 'serviceAccountToken'>;
  readonly nodeName: string;
  readonly seLinux: SeLinux;
}

interface SeLinux {
  isEnabled(): Promise<boolean>;
  /** Feature gate SELinuxMount. */
  readonly everyAccessMode: boolean;
}

export interface CsiContext extends CsiPluginDeps {
  readonly known: KnownVolumes;
  readonly calls: DriverCalls;
}
