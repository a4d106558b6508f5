// Checks a whole configuration against every rule and reports all violations together, each with field and flag.
// Upstream: ValidateKubeletConfiguration, ValidateKubeletFlags.
import type { Loaded } from '../load.ts';
import type { Problem } from '../problem.ts';
import { tableRules } from './table-rules.ts';

/** What rules need to know of the machine. */
export interface HostFacts {
  readonly cgroupVersion: 1 | 2;
}

export interface Verdict {
  readonly problems: readonly Problem[];
  readonly warnings: readonly string[];
}

export function validateConfiguration(
  loaded: Omit<Loaded, 'warnings'>,
  host: HostFacts | undefined,
): Verdict {
  void host;
  return { problems: tableRules(loaded.config), warnings: [] };
}
