// The fields evictionHard to memorySwap, in upstream's order: eviction, kernel settings, feature gates and swap.
import { noneUpstream } from '../effect.ts';
import { boolean, booleanMap, choice, duration, int32, object, stringMap } from '../schema.ts';

const defaultEvictionHard = {
  'imagefs.available': '15%',
  'imagefs.inodesFree': '5%',
  'memory.available': '100Mi',
  'nodefs.available': '10%',
  'nodefs.inodesFree': '5%',
} as const;

export const eviction = {
  evictionHard: stringMap({
    fileDefault: defaultEvictionHard,
    flag: { name: 'eviction-hard', type: 'thresholds' },
    applies: 'now',
    doc: 'Thresholds that trigger eviction at once: signal to quantity or percentage. 0% or 100% disables a threshold.',
  }),
  evictionSoft: stringMap({
    flag: { name: 'eviction-soft', type: 'thresholds' },
    applies: 'now',
    doc: 'Thresholds that trigger eviction when they stay crossed for their grace period.',
  }),
  evictionSoftGracePeriod: stringMap({
    flag: 'eviction-soft-grace-period',
    applies: 'now',
    doc: 'Grace period of each soft threshold: signal to duration. Every soft threshold needs one.',
  }),
  evictionPressureTransitionPeriod: duration({
    default: '5m',
    flag: 'eviction-pressure-transition-period',
    applies: 'now',
    doc: 'How long a pressure condition is reported after its threshold is no longer crossed.',
  }),
  evictionMaxPodGracePeriod: int32({
    flag: 'eviction-max-pod-grace-period',
    applies: 'now',
    doc: 'Maximum termination grace period of a soft eviction in seconds; a shorter one of the pod applies. 0 or less means one second.',
  }),
  evictionMinimumReclaim: stringMap({
    flag: 'eviction-minimum-reclaim',
    applies: 'now',
    doc: 'How much an eviction reclaims beyond the threshold: signal to quantity or percentage.',
  }),
  mergeDefaultEvictionSettings: boolean({
    keepsZero: true,
    applies: 'now',
    doc: 'Keep the default hard thresholds of signals that evictionHard does not set. If false, setting one drops the defaults of all others.',
  }),
  podsPerCore: int32({
    flag: 'pods-per-core',
    min: 0,
    doc: 'Maximum number of pods per core, limited by maxPods in total. 0 means no such limit.',
  }),
  enableControllerAttachDetach: boolean({
    default: true,
    keepsZero: true,
    flag: 'enable-controller-attach-detach',
    doc: 'Leave attaching and detaching of volumes to the attach/detach controller. CSI volumes need this.',
  }),
  protectKernelDefaults: boolean({
    flag: 'protect-kernel-defaults',
    doc: 'Fail to start if kernel settings differ from the expected ones, instead of changing them.',
  }),
  makeIPTablesUtilChains: boolean({
    default: true,
    keepsZero: true,
    flag: 'make-iptables-util-chains',
    doc: 'Maintain the chains KUBE-IPTABLES-HINT, which shows other components the iptables mode of this host, and KUBE-FIREWALL.',
  }),
  iptablesMasqueradeBit: int32({
    default: 14,
    keepsZero: true,
    min: 0,
    max: 31,
    effect: noneUpstream('the chain that used the mark was removed'),
    doc: 'Bit of the packet mark for masquerading.',
  }),
  iptablesDropBit: int32({
    default: 15,
    keepsZero: true,
    min: 0,
    max: 31,
    effect: noneUpstream('the chain that used the mark was removed'),
    doc: 'Bit of the packet mark for dropping.',
  }),
  featureGates: booleanMap({
    flag: 'feature-gates',
    doc: 'Feature gates to enable or disable. File, drop-ins and flags are merged.',
  }),
  failSwapOn: boolean({
    default: true,
    keepsZero: true,
    flag: 'fail-swap-on',
    doc: 'Fail to start if swap is enabled.',
  }),
  memorySwap: object(
    {
      swapBehavior: choice(['', 'NoSwap', 'LimitedSwap'], {
        gate: 'NodeSwap',
        defaultNote: 'empty means NoSwap',
        doc: 'NoSwap: pods cannot use swap. LimitedSwap: Burstable containers can use swap in proportion to their memory request.',
      }),
    },
    { doc: 'Swap for pods.' },
  ),
};
