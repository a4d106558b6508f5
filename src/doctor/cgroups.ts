// Judges the cgroup hierarchy: its version, its controllers, the driver, and limits around the kubelet. Pure.
import type { CgroupFacts, DoctorSettings, RuntimeStatusFacts } from './facts.ts';
import { type Fact, type Finding, fail, ok, warn } from './finding.ts';
import { bytesText } from './units.ts';

export function judgeCgroupVersion(
  { version }: CgroupFacts,
  { failCgroupV1 }: Pick<DoctorSettings, 'failCgroupV1'>,
): Finding {
  if (version === 2) return ok('cgroup v2');
  const boot = 'boot with systemd.unified_cgroup_hierarchy=1';
  return failCgroupV1
    ? fail('cgroup v1, with which the kubelet does not start', `${boot}, or set failCgroupV1: false`)
    : warn('cgroup v1, which a later release of Kubernetes will not support', boot);
}

const v2Controllers = ['cpu', 'cpuset', 'memory', 'pids'];

export function judgeControllers(
  { controllers, version }: CgroupFacts,
  requiredOnV1: readonly string[],
): Finding {
  const required = version === 1 ? requiredOnV1 : v2Controllers;
  const missing = required.filter((each) => !controllers.includes(each));
  if (missing.length === 0) return ok(required.join(', '));
  const finding = `missing: ${missing.join(', ')}`;
  return version === 1
    ? fail(
        finding,
        `mount the hierarchies of ${missing.join(', ')} below /sys/fs/cgroup; for memory, boot with cgroup_enable=memory`,
      )
    : fail(
        finding,
        `delegate them to this cgroup, such as Delegate=yes in the unit that contains the kubelet, or enable them in the kernel (cgroup_enable=${missing[0]})`,
      );
}

/** What the runtime uses and the kubelet will use must be the same. */
export function judgeDriver(
  reported: Fact<string | undefined>,
  status: Fact<RuntimeStatusFacts>,
  cgroups: Fact<CgroupFacts>,
  { cgroupDriver: configured }: Pick<DoctorSettings, 'cgroupDriver'>,
): Finding {
  const byCall = reported.isKnown ? reported.value : undefined;
  const byStatus = status.isKnown ? status.value.cgroupDriver : undefined;
  const runtime = byCall ?? byStatus;
  if (runtime === undefined) {
    const why = reported.isKnown ? 'the runtime does not report its driver' : reported.why;
    return warn(
      `cgroupDriver is ${configured}, and whether the runtime uses the same is not known: ${why}`,
      'compare it with the configuration of the runtime (containerd: SystemdCgroup)',
    );
  }
  if (runtime !== configured) {
    const difference = `cgroupDriver is ${configured}, the runtime uses ${runtime}`;
    const fix = `set cgroupDriver: ${runtime}`;
    return byCall === undefined
      ? fail(
          `${difference}, so pods do not start`,
          `${fix}, or change the runtime (containerd: SystemdCgroup = ${configured === 'systemd'})`,
        )
      : warn(`${difference}, which takes precedence`, fix);
  }
  const hasTwoManagers =
    cgroups.isKnown && cgroups.value.isSystemd && cgroups.value.version === 2 && runtime === 'cgroupfs';
  return hasTwoManagers
    ? warn(
        'kubelet and runtime use cgroupfs beside systemd, so that two programs manage one hierarchy',
        'set the driver systemd in the runtime (containerd: SystemdCgroup = true) and cgroupDriver: systemd',
      )
    : ok(`kubelet and runtime use ${runtime}`);
}

export function judgeMemoryLimit({ machineMemoryBytes, memoryLimit }: CgroupFacts): Finding {
  const machine = bytesText(machineMemoryBytes);
  if (memoryLimit === undefined || memoryLimit.bytes >= machineMemoryBytes)
    return ok(`no limit below the ${machine} of the machine`);
  return warn(
    `the cgroup ${memoryLimit.cgroup} is limited to ${bytesText(memoryLimit.bytes)} of the ${machine} that the kubelet reports as capacity`,
    'raise the limit, or reserve the difference: systemReserved: {memory: …}',
  );
}
