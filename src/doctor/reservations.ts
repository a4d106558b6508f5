// Judges what is reserved for the system: a machine that is smaller keeps the kubelet from starting. Pure; the rule is that of
// the start. Upstream: validateNodeAllocatable in pkg/kubelet/cm.
import { describeError } from '../base/errors.ts';
import type { CapacityFacts, DiskFacts, StartupRules } from './facts.ts';
import { type Fact, type Finding, fail, ok } from './finding.ts';

/** Without the disk, if that is not known: its own check reports it. */
export function judgeReservations(
  capacity: CapacityFacts,
  rootDisk: Fact<DiskFacts>,
  { reservationFault }: Pick<StartupRules, 'reservationFault'>,
): Finding {
  const storageBytes = rootDisk.isKnown ? rootDisk.value.totalBytes : undefined;
  const problem = faultOf(() => reservationFault({ ...capacity, storageBytes }));
  return problem === undefined
    ? ok('less than the machine has')
    : fail(
        `${problem}; the kubelet does not start`,
        'reduce systemReserved, kubeReserved, reservedSystemCPUs or evictionHard',
      );
}

/** A setting that cannot be parsed is a fault, too. */
function faultOf(rule: () => string | undefined): string | undefined {
  try {
    return rule();
  } catch (err) {
    return describeError(err);
  }
}
