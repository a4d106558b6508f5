// Judges the ports that the kubelet serves: another program on one of them keeps it from starting. Pure.
import type { KubeletProcess, Listener, ServedPort } from './facts.ts';
import { type Fact, type Finding, fail, ok } from './finding.ts';

export function judgePort(
  served: ServedPort,
  listeners: readonly Listener[],
  kubelets: Fact<readonly KubeletProcess[]>,
  rootDir: string,
): Finding {
  const { port, setting } = served;
  if (port === 0) return ok('not served');
  const found = listeners.find((each) => each.port === port && overlap(each.address, served.address));
  if (found === undefined) return ok(`${port} is free`);
  const { pid, program } = found;
  const own = kubelets.isKnown ? kubelets.value.find((each) => each.pid === pid) : undefined;
  if (own?.rootDir === rootDir) return ok(`${port} is served by the running kubelet (pid ${own.pid})`);
  const owner =
    pid === undefined
      ? 'by a program that cannot be found; run as root to see it'
      : own === undefined
        ? `by ${program ?? 'a program'} (pid ${pid})`
        : `by a kubelet with the root directory ${own.rootDir} (pid ${pid})`;
  return fail(
    `${port} is in use on ${found.address} ${owner}`,
    pid === undefined
      ? `ss -ltnp 'sport = :${port}', then stop it, or set ${setting}`
      : `stop it, or set ${setting}`,
  );
}

const everywhere: ReadonlySet<string> = new Set(['0.0.0.0', '::']);

function overlap(a: string, b: string): boolean {
  return a === b || everywhere.has(a) || everywhere.has(b);
}
