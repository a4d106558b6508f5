// The programs of the host that settings need, for the check of a machine before the kubelet runs on it. Pure.
import type { KubeletConfiguration } from './table/kubelet-configuration.ts';

interface NeededProgram {
  readonly program: string;
  readonly why: string;
  /** Debian's package. */
  readonly package: string;
}

export function neededPrograms(
  config: Pick<
    KubeletConfiguration,
    'makeIPTablesUtilChains' | 'shutdownGracePeriod' | 'shutdownGracePeriodByPodPriority'
  >,
): readonly NeededProgram[] {
  const delaysShutdown =
    !config.shutdownGracePeriod.isZero || config.shutdownGracePeriodByPodPriority.length > 0;
  return [
    { program: 'mount', why: 'volumes', package: 'mount' },
    { program: 'umount', why: 'volumes', package: 'mount' },
    ...(config.makeIPTablesUtilChains
      ? [
          {
            program: 'iptables',
            why: 'makeIPTablesUtilChains and most network plugins',
            package: 'iptables',
          },
        ]
      : []),
    ...(delaysShutdown
      ? [{ program: 'systemd-inhibit', why: 'shutdownGracePeriod (systemd-logind)', package: 'systemd' }]
      : []),
  ];
}
