// CPU lists in the format of the kernel and the configuration. Pure. Upstream: k8s.io/utils/cpuset.

/** `0-2,8` → 0, 1, 2, 8. Ignores malformed parts: the configuration is validated, and the kernel writes none. */
export function parseCpuList(list: string): readonly number[] {
  return list.split(',').flatMap((part) => {
    const [, first, last = first] = /^(\d+)(?:-(\d+))?$/.exec(part.trim()) ?? [];
    if (first === undefined) return [];
    return Array.from({ length: Number(last) - Number(first) + 1 }, (_, at) => Number(first) + at);
  });
}
