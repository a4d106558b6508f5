// Judges other kubelets: two on one root directory destroy each other's pods. Pure.
import type { KubeletProcess } from './facts.ts';
import { type Finding, fail, ok } from './finding.ts';

export function judgeKubelets(kubelets: readonly KubeletProcess[], rootDir: string): Finding {
  const same = kubelets.filter((each) => each.rootDir === rootDir).map(({ pid }) => pid);
  if (same.length === 0) return ok(`no kubelet runs with ${rootDir}`);
  if (same.length === 1) return ok(`one kubelet runs with ${rootDir} (pid ${same[0]})`);
  return fail(
    `${same.length} kubelets run with ${rootDir}: pids ${same.join(', ')}`,
    'stop all but one, or give each its own --root-dir',
  );
}
