// Parses the flags that describe objects: taints and reserved memory. Pure. Upstream: pkg/util/flag, pkg/util/taints.

import { isLabelValue, isQualifiedName } from '../../api/k8s/names.ts';
import { isHugePages } from '../../api/quantity/huge-pages.ts';
import { parseQuantity } from '../quantity.ts';

export type Parsed = { readonly value: unknown } | { readonly problem: string };

const taintEffects: readonly string[] = ['NoSchedule', 'PreferNoSchedule', 'NoExecute'];

/** key=value:Effect,key:Effect. A trailing "-" requests the removal of a taint and is skipped. */
export function parseTaints(text: string): Parsed {
  const taints: { key: string; value: string; effect: string; timeAdded: undefined }[] = [];
  const seen = new Set<string>();
  for (const spec of text === '' ? [] : text.split(',')) {
    const [left = '', effect, more] = spec.replace(/-$/, '').split(':');
    const [key = '', value = '', extra] = effect === undefined ? [left] : left.split('=');
    const problems = [...isQualifiedName(key), ...isLabelValue(value)];
    if (more !== undefined || extra !== undefined)
      return { problem: `"${spec}" does not have the form key=value:Effect` };
    if (problems.length > 0) return { problem: `"${spec}": ${problems.join('; ')}` };
    if (effect !== undefined && !taintEffects.includes(effect)) {
      return { problem: `"${spec}": the effect must be one of ${taintEffects.join(', ')}` };
    }
    if (spec.endsWith('-')) continue;
    if (effect === undefined) return { problem: `"${spec}" has no taint effect` };
    if (seen.has(`${key}:${effect}`)) return { problem: `the taint ${key}:${effect} is specified twice` };
    seen.add(`${key}:${effect}`);
    taints.push({ key, value, effect, timeAdded: undefined });
  }
  return { value: taints };
}

/** 0:memory=1Gi,hugepages-1Mi=2Gi;1:memory=2Gi */
export function parseReservedMemory(text: string, before: unknown): Parsed {
  if (text === '') return { value: [] };
  const reservations = [...((before as readonly unknown[] | undefined) ?? [])];
  for (const part of text.split(';')) {
    const [numa = '', list, more] = part.split(':');
    if (list === undefined || more !== undefined) {
      return { problem: `"${part}" does not have the form node:type=quantity,type=quantity` };
    }
    if (!/^[+-]?[0-9]{1,9}$/.test(numa)) return { problem: `"${numa}" is not the number of a NUMA node` };
    const limits = new Map<string, string>();
    for (const item of list.split(',')) {
      const [type = '', amount, extra] = item.split('=');
      if (amount === undefined || extra !== undefined)
        return { problem: `"${item}" does not have the form type=quantity` };
      if (type !== 'memory' && !isHugePages(type)) {
        return { problem: `"${type}" is neither memory nor hugepages-<size>` };
      }
      const quantity = parseQuantity(amount);
      if (quantity === undefined) return { problem: `"${amount}" is not a quantity` };
      limits.set(type, quantity.toString());
    }
    reservations.push({ numaNode: Number(numa), limits: Object.fromEntries(limits) });
  }
  return { value: reservations };
}
