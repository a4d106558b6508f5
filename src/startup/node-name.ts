// The name of the Node object. Upstream: component-helpers/node/util (GetHostname). Pure.
import { KubeletError } from '../base/errors.ts';

/** The host name or --hostname-override, trimmed and in lower case. Throws when it is empty. */
export function nodeName(hostname: string, override: string): string {
  const name = (override === '' ? hostname : override).trim().toLowerCase();
  if (name !== '') return name;
  const problem = override === '' ? 'the host name is empty' : '--hostname-override is blank';
  throw new KubeletError('invalid', 'EmptyNodeName', `${problem}, so the node has no name`, {
    details: { flag: 'hostname-override' },
  });
}
