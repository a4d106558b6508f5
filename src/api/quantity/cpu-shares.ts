// Converts CPU amounts to the kernel's units. Pure. Upstream: pkg/kubelet/cm/helpers_linux.go and cgroup_v2_manager_linux.go.

export const minShares = 2n;
const maxShares = 262_144n;
const sharesPerCpu = 1024n;
const minQuotaUs = 1_000n;
const maxWeight = 10_000n;

export function milliCpuToShares(milliCpu: bigint): bigint {
  const shares = (milliCpu * sharesPerCpu) / 1000n;
  if (shares < minShares) return minShares;
  return shares > maxShares ? maxShares : shares;
}

/** The smallest CPU request with these shares, except below the minimum of two. */
export function sharesToMilliCpu(shares: bigint): bigint {
  return shares < minShares ? 0n : (shares * 1000n + sharesPerCpu - 1n) / sharesPerCpu;
}

/** 0: no limit. */
export function milliCpuToQuotaUs(milliCpu: bigint, periodUs: bigint): bigint {
  if (milliCpu === 0n) return 0n;
  const quota = (milliCpu * periodUs) / 1000n;
  return quota < minQuotaUs ? minQuotaUs : quota;
}

/** 0: no limit. */
export function quotaToMilliCpu(quotaUs: bigint, periodUs: bigint): bigint {
  return quotaUs <= 0n || periodUs <= 0n ? 0n : (quotaUs * 1000n) / periodUs;
}

/** The weight of cgroup v2, 1 to 10000. */
export function sharesToWeight(shares: bigint): bigint {
  if (shares >= maxShares) return maxWeight;
  return 1n + ((shares - minShares) * 9999n) / 262_142n;
}

export function weightToShares(weight: bigint): bigint {
  return ((weight - 1n) * 262_142n) / 9999n + minShares;
}
