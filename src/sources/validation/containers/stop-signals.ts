// The allowed stop signals of containers. Upstream: pkg/apis/core (Signal).

const named =
  'ABRT ALRM BUS CHLD CLD CONT FPE HUP ILL INT IO IOT KILL PIPE POLL PROF PWR QUIT SEGV STKFLT STOP SYS TERM TRAP TSTP TTIN TTOU URG USR1 USR2 VTALRM WINCH XCPU XFSZ RTMIN RTMAX';

function upTo(count: number, name: (index: number) => string): string[] {
  return Array.from({ length: count }, (_, index) => name(index + 1));
}

const linux: readonly string[] = [
  ...named.split(' ').map((name) => `SIG${name}`),
  ...upTo(15, (index) => `SIGRTMIN+${index}`),
  ...upTo(14, (index) => `SIGRTMAX-${index}`),
];

const windows: readonly string[] = ['SIGKILL', 'SIGTERM'];

/** Undefined for an unknown operating system, which another rule reports. */
export function stopSignals(os: string): readonly string[] | undefined {
  if (os === 'windows') return windows;
  return os === 'linux' ? linux : undefined;
}
