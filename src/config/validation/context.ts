// The context of a validation rule, and the names of settings in its messages.

import { allFlags } from '../command-line/flag-index.ts';
import type { FeatureGates } from '../gates/feature-gates.ts';
import { pathText } from '../load/document.ts';
import type { KubeletConfiguration } from '../table/kubelet-configuration.ts';
import type { KubeletFlags } from '../table/kubelet-flags.ts';

/** Facts about the machine that rules need. */
export interface HostFacts {
  readonly cgroupVersion: 1 | 2;
  /** Whether the TLS library of this process has the key exchange mechanism of this name. Absent: assumed to have all. */
  readonly hasTlsGroup?: (name: string) => boolean;
}

export interface RuleContext {
  readonly config: KubeletConfiguration;
  readonly flags: KubeletFlags;
  readonly gates: FeatureGates;
  /** Undefined when unknown: rules about the machine are then skipped. */
  readonly host: HostFacts | undefined;
  /** Reports that the field at this path violates a rule. */
  readonly fail: (path: string, message: string) => void;
  readonly warn: (message: string) => void;
}

export type Rule = (context: RuleContext) => void;

const flagOfPath: ReadonlyMap<string, string> = new Map(
  allFlags.filter(({ table }) => table === 'config').map(({ path, name }) => [pathText(path), name]),
);

/** "maxPods (--max-pods)" */
export function settingName(path: string): string {
  const flag = flagOfPath.get(path) ?? flagOfPath.get(path.split('[', 1)[0] ?? '');
  return flag === undefined ? path : `${path} (--${flag})`;
}

export function quote(text: string): string {
  return JSON.stringify(text);
}

export function listWords(words: readonly string[]): string {
  return words.map(quote).join(', ');
}
