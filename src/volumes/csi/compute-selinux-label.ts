// The SELinux label to mount a volume with, so that the runtime need not relabel every file. Pure.
// Upstream: GetMountSELinuxLabel and SELinuxOptionsToFileLabel in pkg/volume/util/selinux.go.
// Invariant: a label holds only characters that cannot end the quoted mount option.
import type { Pod, SELinuxOptions } from '../../api/k8s/types.ts';
import { allContainers } from '../../api/pod/find-container.ts';
import type { VolumeSpec } from '../plugin.ts';
import { refuse } from './failure.ts';

/** Of files of containers, in the policies of all distributions. */
const defaults = { user: 'system_u', role: 'object_r', type: 'container_file_t' };

export interface SeLinuxSupport {
  readonly isEnabled: boolean;
  /** CSIDriver.spec.seLinuxMount. */
  readonly isSupportedByDriver: boolean;
  /** Feature gate SELinuxMount. Without it only ReadWriteOncePod volumes are mounted with a label. */
  readonly everyAccessMode: boolean;
}

/** Whether volumes of this kind are mounted with a label, and two pods with different ones exclude each other. */
export function supportsSeLinuxMount(spec: VolumeSpec, support: SeLinuxSupport): boolean {
  const { everyAccessMode, isEnabled, isSupportedByDriver } = support;
  if (!isEnabled || !isSupportedByDriver || spec.persistent === undefined) return false;
  const modes = spec.persistent.spec?.accessModes ?? [];
  return everyAccessMode || (modes.length === 1 && modes[0] === 'ReadWriteOncePod');
}

// differs from upstream: containers with different labels are an error only if the volume would be mounted with one of them.
/** Undefined: mount without a label, and let the runtime relabel the files. */
export function computeSeLinuxLabel(pod: Pod, spec: VolumeSpec, support: SeLinuxSupport): string | undefined {
  const ofPod = pod.spec?.securityContext;
  if (!supportsSeLinuxMount(spec, support) || ofPod?.seLinuxChangePolicy === 'Recursive') return undefined;
  const labels = new Set(
    allContainers(pod)
      .filter(({ volumeMounts = [] }) => volumeMounts.some(({ name }) => name === spec.name))
      .map(({ securityContext }) => securityContext?.seLinuxOptions ?? ofPod?.seLinuxOptions)
      .flatMap((options) => (options === undefined ? [] : [fileLabel(options)])),
  );
  if (labels.size > 1) refuse(`multiple SELinux labels found: ${[...labels].sort().join(',')}`);
  const [label = ''] = labels;
  return label === '' ? undefined : label;
}

export function contextOption(label: string): string {
  return `context="${label}"`;
}

const field = /^[A-Za-z0-9_.-]{0,128}$/;
const levelField = /^[A-Za-z0-9_.,:-]{0,1024}$/;

// differs from upstream: without a level the label is empty. Upstream invents a random one each time, so that a volume seems to
// have another label on every sync.
/** The label of the files of a process with these options: its own user and level. Empty if there are no options or no level. */
function fileLabel(options: SELinuxOptions): string {
  const { level = '', role = '', type = '', user = '' } = options;
  if (![user, role, type].every((each) => field.test(each)) || !levelField.test(level))
    refuse('failed to construct SELinux label from context: it contains characters that no label has');
  if (level === '') return '';
  return `${user === '' ? defaults.user : user}:${defaults.role}:${defaults.type}:${level}`;
}
