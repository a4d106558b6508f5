// What a rule sees, and how it names what it complains about.

import { allFlags } from '../command-line/flag-index.ts';
import type { FeatureGates } from '../gates/feature-gates.ts';
import { pathText } from '../load/document.ts';
import type { KubeletConfiguration } from '../table/kubelet-configuration.ts';
import type { KubeletFlags } from '../table/kubelet-flags.ts';

/** What rules need to know of the machine. */
export interface HostFacts {
  readonly cgroupVersion: 1 | 2;
}

export interface RuleContext {
  readonly config: KubeletConfiguration;
  readonly flags: KubeletFlags;
  readonly gates: FeatureGates;
  /** Undefined when nobody looked: rules about the machine then hold their tongue. */
  readonly host: HostFacts | undefined;
  /** The field at this path breaks a rule. */
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
