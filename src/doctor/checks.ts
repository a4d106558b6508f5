// The checks of `kubelet doctor` in the order of its output: a name, the facts it needs, and its judge.
// Invariants: a name is stable, since scripts read it; docs/doctor.md has a row for each, which a test compares.
import { judgeApiServer } from './api-server.ts';
import { judgeAuthority, judgeClientCertificate, judgeKubeconfig, judgeServing } from './certificates.ts';
import { judgeCgroupVersion, judgeControllers, judgeDriver, judgeMemoryLimit } from './cgroups.ts';
import { judgeClock, judgeSkew } from './clock.ts';
import { judgeDisk, judgePropagation } from './disks.ts';
import type {
  ClockFacts,
  DoctorSettings,
  HostFacts,
  IdentityFacts,
  ServedPort,
  StartupRules,
} from './facts.ts';
import { type Fact, type Finding, judgeKnown, ok } from './finding.ts';
import { judgeMachineId, judgeNodeIp, judgeNodeName } from './identity.ts';
import { judgeBridge, judgeForwarding, judgeKernelSettings, judgeOverlay } from './kernel.ts';
import { judgeKubelets } from './kubelets.ts';
import { judgePort } from './ports.ts';
import { judgePrivileges, judgePrograms } from './privileges.ts';
import { judgeReservations } from './reservations.ts';
import { judgeResolvConf } from './resolv-conf.ts';
import {
  judgeAnswering,
  judgeNetwork,
  judgeReady,
  judgeSandboxImage,
  judgeSocket,
  judgeVersion,
} from './runtime.ts';
import { judgeAuthentication, judgeEffects, judgeSettings } from './settings.ts';
import { judgeSwap } from './swap.ts';

export type Facts = { readonly [K in keyof HostFacts]: Fact<HostFacts[K]> };

export interface Context {
  readonly settings: DoctorSettings;
  readonly rules: StartupRules;
}

export interface Check {
  readonly name: string;
  readonly reads: readonly (keyof HostFacts)[];
  readonly judge: (facts: Facts, context: Context) => Finding;
}

/** A judge sees only the facts that its row names. */
function check<K extends keyof HostFacts>(
  name: string,
  reads: readonly K[],
  judge: (facts: Pick<Facts, K>, context: Context) => Finding,
): Check {
  return { name, reads, judge };
}

export const checks: readonly Check[] = [
  check('settings', [], (_, { settings }) => judgeSettings(settings)),
  check('settings-effect', [], (_, { settings }) => judgeEffects(settings)),
  check('authentication', ['cluster'], ({ cluster }, { rules }) => judgeAuthentication(cluster, rules)),
  check('privileges', ['privileges'], ({ privileges }) =>
    judgeKnown(privileges, 'the user', judgePrivileges),
  ),
  check('programs', ['programs'], ({ programs }, { settings }) =>
    judgeKnown(programs, 'the programs', (found) => judgePrograms(settings.programs, found)),
  ),
  check('node-name', ['identity'], ({ identity }, { rules }) =>
    judgeKnown(identity, 'the host name', (value) => judgeNodeName(value, rules)),
  ),
  check('node-ip', ['identity'], ({ identity }, { rules, settings }) =>
    judgeKnown(identity, 'the addresses', (value) => judgeNodeIp(value, settings, rules)),
  ),
  check('machine-id', ['identity'], ({ identity }) => judgeKnown(identity, 'the machine ID', judgeMachineId)),
  check('cgroup-version', ['cgroups'], ({ cgroups }, { settings }) =>
    judgeKnown(cgroups, 'the cgroup version', (value) => judgeCgroupVersion(value, settings)),
  ),
  check('cgroup-controllers', ['cgroups'], ({ cgroups }, { rules }) =>
    judgeKnown(cgroups, 'the controllers', (value) => judgeControllers(value, rules.requiredControllers)),
  ),
  check(
    'cgroup-driver',
    ['runtimeCgroupDriver', 'runtimeStatus', 'cgroups'],
    ({ cgroups, runtimeCgroupDriver, runtimeStatus }, { settings }) =>
      judgeDriver(runtimeCgroupDriver, runtimeStatus, cgroups, settings),
  ),
  check('memory-limit', ['cgroups'], ({ cgroups }) =>
    judgeKnown(cgroups, 'the memory limit', judgeMemoryLimit),
  ),
  check('reservations', ['capacity', 'rootDisk'], ({ capacity, rootDisk }, { rules }) =>
    judgeKnown(capacity, 'the capacity', (value) => judgeReservations(value, rootDisk, rules)),
  ),
  check('swap', ['swap'], ({ swap }, { rules, settings }) =>
    judgeKnown(swap, 'swap', (value) => judgeSwap(value, settings, rules)),
  ),
  check('kernel-settings', ['kernel'], ({ kernel }, { rules, settings }) =>
    judgeKnown(kernel, 'the kernel settings', (value) =>
      judgeKernelSettings(value, rules.kernelSettings, settings),
    ),
  ),
  check('ip-forward', ['kernel'], ({ kernel }) => judgeKnown(kernel, 'ip_forward', judgeForwarding)),
  check('resolv-conf', ['resolvConf'], ({ resolvConf }, { settings }) =>
    judgeResolvConf(resolvConf, settings),
  ),
  check('bridge-netfilter', ['kernel'], ({ kernel }) => judgeKnown(kernel, 'br_netfilter', judgeBridge)),
  check('overlay', ['kernel'], ({ kernel }) => judgeKnown(kernel, 'overlay', judgeOverlay)),
  check('runtime-socket', ['runtimeSocket'], ({ runtimeSocket }, { settings }) =>
    judgeSocket(runtimeSocket, settings),
  ),
  check('runtime-version', ['runtimeVersion', 'runtimeSocket'], ({ runtimeSocket, runtimeVersion }) =>
    judgeVersion(runtimeVersion, runtimeSocket),
  ),
  check('runtime-ready', ['runtimeStatus', 'runtimeVersion'], ({ runtimeStatus, runtimeVersion }) =>
    judgeAnswering(runtimeVersion, () => judgeReady(runtimeStatus)),
  ),
  check(
    'runtime-network',
    ['runtimeStatus', 'runtimeVersion', 'cluster'],
    ({ cluster, runtimeStatus, runtimeVersion }) =>
      judgeAnswering(runtimeVersion, () =>
        judgeNetwork(runtimeStatus, cluster.isKnown && cluster.value.source === 'standalone'),
      ),
  ),
  check(
    'sandbox-image',
    ['runtimeStatus', 'runtimeVersion', 'hasSandboxImage'],
    ({ hasSandboxImage, runtimeStatus, runtimeVersion }) =>
      judgeAnswering(runtimeVersion, () => judgeSandboxImage(runtimeStatus, hasSandboxImage)),
  ),
  portCheck('port', 'port'),
  portCheck('port-read-only', 'readOnlyPort'),
  portCheck('port-healthz', 'healthzPort'),
  portCheck('port-dashboard', '--dashboard-port'),
  check('other-kubelet', ['kubelets'], ({ kubelets }, { settings }) =>
    judgeKnown(kubelets, 'other kubelets', (value) => judgeKubelets(value, settings)),
  ),
  check('disk-root', ['rootDisk'], ({ rootDisk }, { settings }) =>
    judgeDisk(rootDisk, settings.rootDir, 'nodefs', settings),
  ),
  check('disk-logs', ['logsDisk'], ({ logsDisk }, { settings }) =>
    judgeDisk(logsDisk, settings.podLogsDir, 'nodefs', settings),
  ),
  check('disk-images', ['imageDisk', 'runtimeVersion'], ({ imageDisk, runtimeVersion }, { settings }) =>
    judgeAnswering(runtimeVersion, () =>
      judgeDisk(imageDisk, 'the image directory of the runtime', 'imagefs', settings),
    ),
  ),
  check('mount-propagation', ['rootDisk', 'privileges'], ({ privileges, rootDisk }, { settings }) =>
    judgeKnown(rootDisk, 'mount propagation', (value) =>
      judgePropagation(
        value,
        privileges.isKnown && !privileges.value.missing.includes('CAP_SYS_ADMIN'),
        settings.rootDir,
      ),
    ),
  ),
  check('clock', ['clock'], ({ clock }) => judgeKnown(clock, 'the clock', judgeClock)),
  check('clock-skew', ['apiServer'], ({ apiServer }) => judgeSkew(apiServer)),
  check('kubeconfig', ['cluster'], ({ cluster }) => judgeKubeconfig(cluster)),
  check(
    'client-certificate',
    ['clientCertificate', 'clock', 'cluster', 'identity'],
    ({ clientCertificate, clock, cluster, identity }, { rules, settings }) =>
      judgeKnown(clientCertificate, 'the client certificate', (file) =>
        atTime(clock, (nowMs) =>
          judgeClientCertificate(file, nowMs, {
            ...settings,
            nodeName: nodeNameOf(identity, rules),
            isBootstrap: cluster.isKnown && cluster.value.source === 'bootstrap',
          }),
        ),
      ),
  ),
  check('server-ca', ['serverAuthority', 'clock'], ({ clock, serverAuthority }) =>
    judgeKnown(serverAuthority, 'the CA of the API server', (file) =>
      atTime(clock, (nowMs) => judgeAuthority(file, nowMs, 'certificate-authority of the kubeconfig')),
    ),
  ),
  check('client-ca', ['clientAuthority', 'clock'], ({ clientAuthority, clock }) =>
    judgeKnown(clientAuthority, 'the CA of clients', (file) =>
      atTime(clock, (nowMs) => judgeAuthority(file, nowMs, 'authentication.x509.clientCAFile')),
    ),
  ),
  check('serving-certificate', ['serving', 'clock'], ({ clock, serving }) =>
    judgeKnown(serving, 'the serving certificate', (value) =>
      atTime(clock, (nowMs) => judgeServing(value, nowMs)),
    ),
  ),
  check('api-server', ['cluster', 'apiServer'], ({ apiServer, cluster }, { settings }) =>
    judgeApiServer(cluster, apiServer, settings),
  ),
];

function portCheck(name: string, setting: ServedPort['setting']): Check {
  return check(name, ['listeners', 'kubelets'], ({ kubelets, listeners }, { settings }) => {
    const served = settings.ports.find((each) => each.setting === setting);
    if (served === undefined) return ok('not served');
    return judgeKnown(listeners, 'the ports in use', (value) =>
      judgePort(served, value, kubelets, settings.rootDir),
    );
  });
}

function atTime(clock: Fact<ClockFacts>, judge: (nowMs: number) => Finding): Finding {
  return judgeKnown(clock, 'the time', ({ nowMs }) => judge(nowMs));
}

/** Empty if there is none, which the check of the name reports. */
function nodeNameOf(identity: Fact<IdentityFacts>, { nodeName }: StartupRules): string {
  if (!identity.isKnown) return '';
  try {
    return nodeName(identity.value.hostname);
  } catch {
    return '';
  }
}
