// The iptables rules that the CNI plugins bridge and portmap create for a network.
// Each pod has a rule with the network's name in its comment, which jumps to a chain of the pod; portmap also creates
// three chains that all networks of the machine share.
import { run } from './process.ts';

const sharedChains = ['CNI-HOSTPORT-DNAT', 'CNI-HOSTPORT-MASQ', 'CNI-HOSTPORT-SETMARK'];

interface Rule {
  readonly chain: string;
  readonly target: string;
  readonly args: readonly string[];
}

async function natRules(): Promise<readonly Rule[]> {
  const { code, stdout } = await run('iptables', ['-w', '-t', 'nat', '-S']);
  if (code !== 0) return [];
  return stdout
    .split('\n')
    .filter((line) => line.startsWith('-A '))
    .map((line) => {
      const args = splitWords(line);
      const jump = args.indexOf('-j');
      return { chain: args[1] ?? '', target: jump < 0 ? '' : (args[jump + 1] ?? ''), args };
    });
}

/** Splits a saved rule into words; a comment is quoted, with escaped quotes. */
function splitWords(line: string): readonly string[] {
  const words = line.match(/"(?:\\.|[^"\\])*"|\S+/g) ?? [];
  return words.map((word) => (word.startsWith('"') ? word.slice(1, -1).replaceAll(/\\(.)/g, '$1') : word));
}

function belongsTo(rule: Rule, network: string): boolean {
  return rule.args.some((word) => word.includes(`name: "${network}"`));
}

function isPodChain(chain: string): boolean {
  return /^CNI-(DN-)?[0-9a-f]{16,}$/.test(chain);
}

async function iptables(...args: readonly string[]): Promise<void> {
  await run('iptables', ['-w', '-t', 'nat', ...args]);
}

/** The rules and chains of this network. */
export async function firewallRules(network: string): Promise<readonly string[]> {
  const rules = await natRules();
  return rules.filter((rule) => belongsTo(rule, network)).map((rule) => rule.args.join(' '));
}

export async function removeFirewallRules(network: string): Promise<void> {
  const rules = (await natRules()).filter((rule) => belongsTo(rule, network));
  for (const rule of rules) await iptables('-D', ...rule.args.slice(1));
  const chains = rules.flatMap((rule) => [rule.chain, rule.target]).filter(isPodChain);
  for (const chain of new Set(chains)) {
    await iptables('-F', chain);
    await iptables('-X', chain);
  }
}

/** The shared chains of portmap that exist and that no pod of any network uses. */
export async function idleSharedChains(): Promise<readonly string[]> {
  const { stdout } = await run('iptables', ['-w', '-t', 'nat', '-S']);
  const existing = sharedChains.filter((chain) => stdout.includes(`-N ${chain}`));
  const used = (await natRules()).some((rule) => rule.chain === 'CNI-HOSTPORT-DNAT');
  return used ? [] : existing;
}

/** Removes the shared chains of portmap. Only safe while no pod uses them and no rig can start. */
export async function removeSharedChains(): Promise<void> {
  const chains = await idleSharedChains();
  if (chains.length === 0) return;
  const jumps = (await natRules()).filter((rule) => chains.includes(rule.target));
  for (const rule of jumps) await iptables('-D', ...rule.args.slice(1));
  for (const chain of chains) await iptables('-F', chain);
  for (const chain of chains) await iptables('-X', chain);
}
