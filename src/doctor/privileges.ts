// Judges what this process may do, and the programs that the kubelet calls. Pure.
import type { NeededProgram, PrivilegeFacts } from './facts.ts';
import { type Finding, fail, ok, warn } from './finding.ts';

/** Without these pods do not run. Without the others something does not work: the OOM score, the limit of open files, statistics. */
const essential: ReadonlySet<string> = new Set([
  'CAP_CHOWN',
  'CAP_DAC_OVERRIDE',
  'CAP_KILL',
  'CAP_SYS_ADMIN',
]);

export function judgePrivileges({ missing, uid }: PrivilegeFacts): Finding {
  if (uid !== 0)
    return warn(
      `this is user ${uid}, and the kubelet runs as root; some checks see less than it will`,
      'run the command as root: sudo kubelet doctor …',
    );
  if (missing.length > 0) {
    const finding = `root without ${missing.join(', ')}`;
    const fix =
      'start the kubelet outside of a container, or in a privileged one; in a unit, extend CapabilityBoundingSet';
    return missing.some((each) => essential.has(each)) ? fail(finding, fix) : warn(finding, fix);
  }
  return ok('root, with all capabilities that the kubelet needs');
}

export function judgePrograms(needed: readonly NeededProgram[], found: readonly string[]): Finding {
  const missing = needed.filter(({ program }) => !found.includes(program));
  if (missing.length === 0) return ok(needed.map(({ program }) => program).join(', '));
  const packages = [...new Set(missing.map((each) => each.package))];
  return warn(
    missing.map(({ program, why }) => `${program} is missing, needed for ${why}`).join('; '),
    `install them, on Debian: apt-get install ${packages.join(' ')}`,
  );
}
