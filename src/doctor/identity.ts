// Judges how the node identifies itself: its name, its addresses, the IDs of the machine. Pure.
import { isDns1123Subdomain } from '../api/k8s/names.ts';
import { describeError } from '../base/errors.ts';
import type { DoctorSettings, IdentityFacts, StartupRules } from './facts.ts';
import { type Finding, fail, ok, warn } from './finding.ts';

export function judgeNodeName(
  { hostname }: IdentityFacts,
  { nodeName }: Pick<StartupRules, 'nodeName'>,
): Finding {
  const fix = 'hostnamectl set-hostname NAME, or --hostname-override=NAME';
  try {
    const name = nodeName(hostname);
    const problems = isDns1123Subdomain(name);
    return problems.length === 0
      ? ok(name)
      : fail(`${JSON.stringify(name)} is not a valid node name: ${problems.join('; ')}`, fix);
  } catch (err) {
    return fail(describeError(err), fix);
  }
}

export function judgeNodeIp(
  { addresses }: IdentityFacts,
  { nodeIp }: Pick<DoctorSettings, 'nodeIp'>,
  { nodeIpProblems }: Pick<StartupRules, 'nodeIpProblems'>,
): Finding {
  if (nodeIp === '') return ok('not set: the address of the default route is used');
  const fix = 'set --node-ip to an address of this machine (ip addr), or remove it';
  try {
    const problems = nodeIpProblems(addresses);
    return problems.length === 0 ? ok(nodeIp) : fail(problems.join('; '), fix);
  } catch (err) {
    return fail(describeError(err), fix);
  }
}

const hexDigits = /^[0-9a-f]{32}$/;
/** Filled in by manufacturers instead of an ID. */
const placeholderUuids: ReadonlySet<string> = new Set([
  '03000200040005000006000700080009',
  '12345678123456781234567812345678',
]);

export function judgeMachineId({ machineId, productUuid }: IdentityFacts): Finding {
  const fix =
    'rm -f /etc/machine-id && systemd-machine-id-setup, also in the template that machines are cloned from';
  if (machineId === '') return warn('/etc/machine-id is empty or missing', fix);
  if (!hexDigits.test(machineId) || isConstant(machineId))
    return warn(`/etc/machine-id is not an ID: ${machineId}`, fix);
  const uuid = productUuid.toLowerCase().replaceAll('-', '');
  if (uuid !== '' && (isConstant(uuid) || placeholderUuids.has(uuid)))
    return warn(
      `the product UUID ${productUuid} is a placeholder, which other machines have, too`,
      'set another one in the firmware or the hypervisor; the node reports it as systemUUID',
    );
  return ok(`${machineId}; whether a clone has the same cannot be seen here`);
}

function isConstant(text: string): boolean {
  return text === (text[0] ?? '').repeat(text.length);
}
