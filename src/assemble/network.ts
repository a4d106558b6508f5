// Chains and rules in the host's iptables. None if makeIPTablesUtilChains is false.
import type { Component } from '../base/component.ts';
import { IptablesUtilChains } from '../network/iptables-util-chains.ts';
import type { AssembleInput } from './input.ts';

export function assembleNetwork({
  clock,
  config,
  edges,
  log,
}: Pick<AssembleInput, 'clock' | 'config' | 'edges' | 'log'>): readonly Component[] {
  if (!config.makeIPTablesUtilChains) return [];
  const { iptables } = edges;
  return [new IptablesUtilChains({ iptables, clock, log: log.with({ component: 'iptables-util-chains' }) })];
}
