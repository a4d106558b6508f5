// Rules for eviction thresholds. Upstream rejects these when it builds the eviction manager; here they are part of the
// validation. Upstream: ParseThresholdConfig in pkg/kubelet/eviction/helpers.go.
import {
  evictionSignals,
  isDisabledThreshold,
  isEvictionSignal,
  parsePercentage,
} from '../../api/quantity/eviction-threshold.ts';
import { Duration } from '../duration.ts';
import { parseQuantity } from '../quantity.ts';
import type { StringMap } from '../schema.ts';
import { listWords, quote, type Rule, type RuleContext } from './context.ts';

export const evictionRules: Rule = (context) => {
  const { config, fail } = context;
  checkSignals(context, 'evictionHard', config.evictionHard, thresholdProblem);
  checkSignals(context, 'evictionSoft', config.evictionSoft, thresholdProblem);
  checkSignals(context, 'evictionSoftGracePeriod', config.evictionSoftGracePeriod, (text) => {
    const period = Duration.parse(text);
    if (period === undefined) return 'is not a duration';
    return period.ns < 0n ? 'is negative' : undefined;
  });
  checkSignals(context, 'evictionMinimumReclaim', config.evictionMinimumReclaim, reclaimProblem);
  for (const [signal, threshold] of Object.entries(config.evictionSoft)) {
    if (isDisabledThreshold(threshold) || config.evictionSoftGracePeriod[signal] !== undefined) continue;
    fail('evictionSoftGracePeriod', `the soft threshold of ${quote(signal)} has no grace period`);
  }
};

function checkSignals(
  { fail }: RuleContext,
  path: string,
  values: StringMap,
  problemOf: (text: string) => string | undefined,
): void {
  for (const [signal, text] of Object.entries(values)) {
    const problem = problemOf(text);
    if (!isEvictionSignal(signal)) {
      fail(path, `${quote(signal)} is not a signal, must be one of ${listWords(evictionSignals)}`);
    } else if (problem !== undefined) fail(path, `${quote(text)} of ${quote(signal)} ${problem}`);
  }
}

function thresholdProblem(text: string): string | undefined {
  if (isDisabledThreshold(text)) return undefined;
  if (text.endsWith('%')) {
    const fraction = parsePercentage(text);
    if (fraction === undefined) return 'is not a percentage';
    return fraction < 0 || fraction > 1 ? 'is not from 0% to 100%' : undefined;
  }
  const quantity = parseQuantity(text);
  if (quantity === undefined) return 'is neither a quantity nor a percentage';
  return quantity.sign() > 0 ? undefined : 'is not positive';
}

function reclaimProblem(text: string): string | undefined {
  if (text.endsWith('%')) {
    const fraction = parsePercentage(text);
    if (fraction === undefined) return 'is not a percentage';
    return fraction > 0 ? undefined : 'is not positive';
  }
  const quantity = parseQuantity(text);
  if (quantity === undefined) return 'is neither a quantity nor a percentage';
  return quantity.sign() < 0 ? 'is negative' : undefined;
}
