// What the translator of one in-tree kind decides. Types only.
// Upstream: the interface InTreePlugin in staging/src/k8s.io/csi-translation-lib/plugins/in_tree_volume.go.
import type { MigratedField } from '../../api/k8s/migrated-plugins.ts';
import type { CSIPersistentVolumeSource, PersistentVolume, Volume } from '../../api/k8s/types.ts';
import type { TopologyKeys } from './topology.ts';

export interface Translator {
  readonly field: MigratedField;
  /** The driver's labels of nodes; absent if the node affinity stays as it is. */
  readonly topology?: TopologyKeys;
  /** Undefined: a volume of another kind. */
  persistent(volume: PersistentVolume): PersistentTranslation | undefined;
  /** Undefined: a volume of another kind. */
  inline(volume: Volume, podNamespace: string): InlineTranslation | undefined;
}

interface PersistentTranslation {
  readonly csi: CSIPersistentVolumeSource;
  /** Absent: those of the volume. */
  readonly accessModes?: readonly string[];
}

interface InlineTranslation {
  readonly csi: CSIPersistentVolumeSource;
  /** Of the synthetic PersistentVolume. Unique per disk: the paths of the volume derive from it. */
  readonly name: string;
  readonly accessMode: 'ReadWriteOnce' | 'ReadOnlyMany' | 'ReadWriteMany';
}
