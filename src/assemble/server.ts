// The kubelet's ports: what they tell and who answers what.

import type { Component } from '../base/component.ts';
import type { Logger } from '../base/log.ts';
import { maskedConfiguration } from '../config/configz.ts';
import { renderFlagz } from '../config/flagz.ts';
import type { FeatureGates } from '../config/gates/feature-gates.ts';
import type { ParsedArgs } from '../config/parse-args.ts';
import type { KubeletConfiguration } from '../config/table/kubelet-configuration.ts';
import { type KnowledgeDeps, knowledgeHandlers } from '../server/handlers.ts';
import { type PlainPortsDeps, plainPorts } from '../server/plain-ports.ts';
import type { RouteHandlers } from '../server/routes.ts';

export interface ServerInput {
  readonly config: KubeletConfiguration;
  readonly gates: FeatureGates;
  readonly args: ParsedArgs;
  readonly edges: { readonly listen: PlainPortsDeps['listen'] };
  /** What the kubelet knows, apart from its configuration. */
  readonly knowledge: Omit<KnowledgeDeps, 'configz' | 'flagz'>;
  /** Who answers the other rows of the route table: logs, streams, statistics. */
  readonly handlers: RouteHandlers;
  readonly log: Logger;
}

export function assembleServer(input: ServerInput): readonly Component[] {
  const { args, config, edges, gates, knowledge, log } = input;
  const own = knowledgeHandlers({
    ...knowledge,
    configz: () => ({ kubeletconfig: maskedConfiguration(config) }),
    flagz: gates.ComponentFlagz ? () => renderFlagz(args) : undefined,
  });
  const handlers: RouteHandlers = { ...own, ...input.handlers };
  return plainPorts({ config, listen: edges.listen, log, checks: knowledge.checks, handlers });
}
