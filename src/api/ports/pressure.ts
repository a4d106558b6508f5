// The pressure conditions of the node. Types only: eviction/ writes them, node/ reports them, admission rejects pods by them.
// Upstream: IsUnderMemoryPressure, IsUnderDiskPressure and IsUnderPIDPressure in pkg/kubelet/eviction.
import type { Subscribable } from '../../base/channel.ts';

export type PressureCondition = 'MemoryPressure' | 'DiskPressure' | 'PIDPressure';

export interface PressureView {
  readonly changed: Subscribable<void>;
  /** In the order in which the Node reports them. */
  conditions(): readonly PressureCondition[];
}
