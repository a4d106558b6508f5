// What every operation on the volumes of this node needs: the host, the layout on disk, the plugins, and the locks and users of
// devices.
import type { VolumeHost } from '../api/ports/volume-host.ts';
import type { Clock } from '../base/clock.ts';
import type { DeviceLocks } from './devices/device-locks.ts';
import type { DeviceUsers } from './devices/device-users.ts';
import type { VolumeLayout } from './layout.ts';
import type { VolumePlugin } from './plugin.ts';
import type { VolumeMetricsPort } from './volume-metrics-port.ts';

export interface VolumeOperationDeps {
  readonly host: VolumeHost;
  readonly layout: VolumeLayout;
  readonly plugins: readonly VolumePlugin[];
  readonly locks: DeviceLocks;
  readonly users: DeviceUsers;
  readonly metrics: VolumeMetricsPort;
  readonly clock: Clock;
}
