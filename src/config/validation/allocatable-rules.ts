// Rules for node allocatable: enforcement against cgroups, reserved CPUs, resources and memory.
// Upstream: validation.go, validation_reserved_memory.go, parseResourceList in cmd/kubelet/app/server.go, ParseQOSReserved.
import { isHugePages } from '../../api/quantity/huge-pages.ts';
import { parseQuantity } from '../quantity.ts';
import type { StringMap } from '../schema.ts';
import { listWords, quote, type Rule, type RuleContext } from './context.ts';

const enforcements = [
  'pods',
  'system-reserved',
  'system-reserved-compressible',
  'kube-reserved',
  'kube-reserved-compressible',
  'none',
] as const;

const cgroupOf = { system: 'systemReservedCgroup', kube: 'kubeReservedCgroup' } as const;

export const enforcementRules: Rule = ({ config, fail }) => {
  const path = 'enforceNodeAllocatable';
  const wanted = config.enforceNodeAllocatable;
  const distinct = new Set(wanted);
  if (distinct.size < wanted.length) fail(path, `names an enforcement twice: ${listWords(wanted)}`);
  if (distinct.has('none') && wanted.length > 1) fail(path, '"none" must be the only entry');
  for (const word of distinct) {
    if (!enforcements.some((known) => known === word)) {
      fail(path, `${quote(word)} is not allowed, must be one of ${listWords(enforcements)}`);
    } else if (word !== 'none' && !config.cgroupsPerQOS) {
      fail('cgroupsPerQOS', `must be true if enforceNodeAllocatable contains ${quote(word)}`);
    }
  }
  for (const owner of ['system', 'kube'] as const) {
    const whole = distinct.has(`${owner}-reserved`);
    const part = distinct.has(`${owner}-reserved-compressible`);
    if (whole && part)
      fail(path, `${owner}-reserved and ${owner}-reserved-compressible are mutually exclusive`);
    if ((whole || part) && config[cgroupOf[owner]] === '') {
      fail(
        cgroupOf[owner],
        `must be set if enforceNodeAllocatable contains "${owner}-reserved${whole ? '' : '-compressible'}"`,
      );
    }
  }
};

export const reservedCpuRules: Rule = ({ config, fail }) => {
  const cpus = config.reservedSystemCPUs;
  if (cpus === '') return;
  if (config.systemReservedCgroup !== '' || config.kubeReservedCgroup !== '') {
    fail('reservedSystemCPUs', 'cannot be used together with systemReservedCgroup or kubeReservedCgroup');
  }
  if (!isCpuList(cpus)) fail('reservedSystemCPUs', `${quote(cpus)} is not a list of CPUs such as 0-3,8`);
};

/** 0-3,8 */
function isCpuList(text: string): boolean {
  return text.split(',').every((part) => {
    const range = /^\+?([0-9]{1,9})(?:-\+?([0-9]{1,9}))?$/.exec(part);
    return range !== null && Number(range[1]) <= Number(range[2] ?? range[1]);
  });
}

export const reservedResourceRules: Rule = (context) => {
  checkResources(context, 'systemReserved', context.config.systemReserved);
  checkResources(context, 'kubeReserved', context.config.kubeReserved);
  for (const [name, share] of Object.entries(context.config.qosReserved)) {
    const percent = /^([+-]?[0-9]+)%+$/.exec(share);
    if (name !== 'memory') context.fail('qosReserved', `${quote(name)} cannot be reserved, only memory can`);
    else if (percent === null || Number(percent[1]) < 0 || Number(percent[1]) > 100) {
      context.fail('qosReserved', `${quote(share)} is not a percentage from 0% to 100%`);
    }
  }
};

const reservable: readonly string[] = ['cpu', 'memory', 'ephemeral-storage', 'pid'];

function checkResources({ fail }: RuleContext, path: string, amounts: StringMap): void {
  for (const [name, amount] of Object.entries(amounts)) {
    const quantity = parseQuantity(amount);
    if (!reservable.includes(name))
      fail(path, `${quote(name)} cannot be reserved, only ${reservable.join(', ')} can`);
    else if (quantity === undefined) fail(path, `the ${name} ${quote(amount)} is not a quantity`);
    else if (quantity.sign() < 0) fail(path, `the ${name} ${quote(amount)} is negative`);
  }
}

export const reservedMemoryRules: Rule = ({ config, fail }) => {
  const seen = new Set<string>();
  for (const [index, { numaNode, limits }] of config.reservedMemory.entries()) {
    const path = `reservedMemory[${index}]`;
    for (const [type, amount] of Object.entries(limits)) {
      if (type !== 'memory' && !isHugePages(type)) {
        fail(path, `${quote(type)} of NUMA node ${numaNode} is neither memory nor hugepages-<size>`);
      }
      if (parseQuantity(amount)?.isZero() === true)
        fail(path, `the ${type} of NUMA node ${numaNode} is zero`);
      const key = `${numaNode}/${type}`;
      if (seen.has(key)) fail(path, `the ${type} of NUMA node ${numaNode} is specified twice`);
      seen.add(key);
    }
  }
};
