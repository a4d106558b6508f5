// Flags whose text describes objects: taints and reserved memory. Upstream: pkg/util/flag, pkg/util/taints.

import { isLabelValue, isQualifiedName } from '../../api/k8s/names.ts';
import { isHugePages } from '../../api/quantity/huge-pages.ts';
import { parseQuantity } from '../quantity.ts';

/** What a flag's text means, or what is wrong with it. */
export type Parsed = { readonly value: unknown } | { readonly fault: string };

const taintEffects: readonly string[] = ['NoSchedule', 'PreferNoSchedule', 'NoExecute'];

/** key=value:Effect,key:Effect. A trailing "-" asks for a removal, which says nothing here and is passed over. */
export function parseTaints(text: string): Parsed {
  const taints: { key: string; value: string; effect: string; timeAdded: undefined }[] = [];
  const seen = new Set<string>();
  for (const spec of text === '' ? [] : text.split(',')) {
    const [left = '', effect, more] = spec.replace(/-$/, '').split(':');
    const [key = '', value = '', extra] = effect === undefined ? [left] : left.split('=');
    const faults = [...isQualifiedName(key), ...isLabelValue(value)];
    if (more !== undefined || extra !== undefined)
      return { fault: `"${spec}" is not of the form key=value:Effect` };
    if (faults.length > 0) return { fault: `"${spec}": ${faults.join('; ')}` };
    if (effect !== undefined && !taintEffects.includes(effect)) {
      return { fault: `"${spec}": the effect must be one of ${taintEffects.join(', ')}` };
    }
    if (spec.endsWith('-')) continue;
    if (effect === undefined) return { fault: `"${spec}" has no effect` };
    if (seen.has(`${key}:${effect}`)) return { fault: `the taint ${key}:${effect} is given twice` };
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
      return { fault: `"${part}" is not of the form node:type=quantity,type=quantity` };
    }
    if (!/^[+-]?[0-9]{1,9}$/.test(numa)) return { fault: `"${numa}" is not the number of a NUMA node` };
    const limits = new Map<string, string>();
    for (const item of list.split(',')) {
      const [type = '', amount, extra] = item.split('=');
      if (amount === undefined || extra !== undefined)
        return { fault: `"${item}" is not of the form type=quantity` };
      if (type !== 'memory' && !isHugePages(type)) {
        return { fault: `"${type}" is neither memory nor hugepages-<size>` };
      }
      const quantity = parseQuantity(amount);
      if (quantity === undefined) return { fault: `"${amount}" is not a quantity` };
      limits.set(type, quantity.toString());
    }
    reservations.push({ numaNode: Number(numa), limits: Object.fromEntries(limits) });
  }
  return { value: reservations };
}
