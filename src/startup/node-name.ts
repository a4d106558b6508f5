// The name this node goes by. Upstream: component-helpers/node/util (GetHostname).
import { KubeletError } from '../base/errors.ts';

/** The host's name, or what --hostname-override says instead; trimmed, in lower case. */
export function nodeName(hostname: string, override: string): string {
  const name = (override === '' ? hostname : override).trim().toLowerCase();
  if (name !== '') return name;
  const what = override === '' ? 'the host has no name' : '--hostname-override is blank';
  throw new KubeletError('invalid', 'EmptyNodeName', `${what}, and a node needs one`, {
    details: { flag: 'hostname-override' },
  });
}
