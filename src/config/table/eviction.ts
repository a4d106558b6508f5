// Settings of eviction, kernel, gates and swap: evictionHard … memorySwap, in upstream's order.
import { missing, noneUpstream, noneYet, partly } from '../effect.ts';
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
    effect: partly('the thresholds count only in allocatable; pods are not evicted'),
    doc: 'Thresholds that evict pods at once, signal to quantity or percentage. A threshold of 0% or 100% is off.',
  }),
  evictionSoft: stringMap({
    flag: { name: 'eviction-soft', type: 'thresholds' },
    effect: noneYet(missing.eviction),
    doc: 'Thresholds that evict pods when they stay crossed for their grace period.',
  }),
  evictionSoftGracePeriod: stringMap({
    flag: 'eviction-soft-grace-period',
    effect: noneYet(missing.eviction),
    doc: 'Grace period of each soft threshold, signal to duration. Every soft threshold needs one.',
  }),
  evictionPressureTransitionPeriod: duration({
    default: '5m',
    flag: 'eviction-pressure-transition-period',
    effect: noneYet(missing.eviction),
    doc: 'How long a pressure condition stays after its threshold is no longer crossed.',
  }),
  evictionMaxPodGracePeriod: int32({
    flag: 'eviction-max-pod-grace-period',
    effect: noneYet(missing.eviction),
    doc: 'Most seconds a pod gets to end on a soft eviction. Negative is what the pod itself asks for.',
  }),
  evictionMinimumReclaim: stringMap({
    flag: 'eviction-minimum-reclaim',
    effect: noneYet(missing.eviction),
    doc: 'How much beyond the threshold an eviction sets free, signal to quantity or percentage.',
  }),
  mergeDefaultEvictionSettings: boolean({
    keepsZero: true,
    doc: 'Keep the default hard thresholds of signals that evictionHard does not name. When false, naming one drops the defaults of all others.',
  }),
  podsPerCore: int32({
    flag: 'pods-per-core',
    min: 0,
    doc: 'How many pods each core may carry, never more than maxPods in total. 0 is no such limit.',
  }),
  enableControllerAttachDetach: boolean({
    default: true,
    keepsZero: true,
    flag: 'enable-controller-attach-detach',
    effect: partly(
      'the kubelet never attaches volumes itself; false changes only the annotation of the Node',
    ),
    doc: 'Leave attaching and detaching of volumes to the controller. CSI volumes need this.',
  }),
  protectKernelDefaults: boolean({
    flag: 'protect-kernel-defaults',
    doc: 'Refuse to start when kernel settings are not as expected, instead of changing them.',
  }),
  makeIPTablesUtilChains: boolean({
    default: true,
    keepsZero: true,
    flag: 'make-iptables-util-chains',
    effect: noneYet('KUBE-IPTABLES-HINT chain'),
    doc: 'Keep the KUBE-IPTABLES-HINT chain, which tells others which iptables this host uses.',
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
    doc: 'Feature gates to switch on or off. File, drop-ins and flags add up.',
  }),
  failSwapOn: boolean({
    default: true,
    keepsZero: true,
    flag: 'fail-swap-on',
    doc: 'Refuse to start while swap is on.',
  }),
  memorySwap: object(
    {
      swapBehavior: choice(['', 'NoSwap', 'LimitedSwap'], {
        gate: 'NodeSwap',
        defaultNote: 'empty means NoSwap',
        doc: 'NoSwap keeps pods out of swap. LimitedSwap lets a Burstable container use swap in proportion to its memory request.',
      }),
    },
    { doc: 'Swap for pods.' },
  ),
};
