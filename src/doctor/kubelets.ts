// Judges other kubelets: two on one root directory destroy each other's pods. Pure.
import type { DoctorSettings, KubeletProcess } from './facts.ts';
import { type Finding, fail, ok, warn } from './finding.ts';

export function judgeKubelets(
  kubelets: readonly KubeletProcess[],
  { isDefault, rootDir }: Pick<DoctorSettings, 'isDefault' | 'rootDir'>,
): Finding {
  const same = kubelets.filter((each) => each.rootDir === rootDir);
  const [first] = same;
  if (first === undefined) return ok(`no kubelet runs with ${rootDir}`);
  if (same.length === 1) {
    const { files, pid } = first;
    // The findings of all other checks may be wrong for it.
    return isDefault && files.length > 0
      ? warn(
          `one kubelet runs with ${rootDir} (pid ${pid}), and has other settings than the defaults that are checked here`,
          `kubelet doctor ${files.join(' ')}`,
        )
      : ok(`one kubelet runs with ${rootDir} (pid ${pid})`);
  }
  return fail(
    `${same.length} kubelets run with ${rootDir}: pids ${same.map(({ pid }) => pid).join(', ')}`,
    'stop all but one, or give each its own --root-dir',
  );
}
