// Which pod a user means. Pure. Invariant: a text that fits several pods is an error that lists them.
import { KubeletError } from '../base/errors.ts';
import { safeText } from './safe-text.ts';

interface PodName {
  readonly namespace: string;
  readonly name: string;
}

const mostCandidates = 10;

/**
 * `text`: NAME, NAMESPACE/NAME, or kubectl's pod/NAME. The exact name counts first. Otherwise it may be the beginning of one name
 * up to a dash: static pods have the name of their node appended, pods of controllers a random suffix.
 */
export function findPod<T extends PodName>(
  pods: readonly T[],
  text: string,
  namespace: string | undefined,
): T {
  const { name, within } = splitName(text, namespace);
  const known = pods.filter((pod) => within === undefined || pod.namespace === within);
  const exact = known.filter((pod) => pod.name === name);
  const found = exact.length > 0 ? exact : known.filter((pod) => pod.name.startsWith(`${name}-`));
  const [first] = found;
  if (first !== undefined && found.length === 1) return first;
  const shown = safeText(within === undefined ? name : `${within}/${name}`);
  if (first === undefined)
    throw new KubeletError(
      'not-found',
      'PodNotFound',
      `no pod ${shown} on this node; "kubelet ps" lists its pods`,
    );
  throw new KubeletError('invalid', 'AmbiguousPod', `${shown} is ambiguous, it may be ${candidates(found)}`);
}

/** For a pod that may be gone: its full name, if the text has a namespace. */
export function splitName(
  text: string,
  namespace: string | undefined,
): { readonly name: string; readonly within: string | undefined } {
  const plain =
    text.startsWith('pod/') || text.startsWith('pods/') ? text.slice(text.indexOf('/') + 1) : text;
  const slash = plain.indexOf('/');
  if (slash < 0) return { name: plain, within: namespace };
  const within = plain.slice(0, slash);
  if (namespace !== undefined && namespace !== within)
    throw new KubeletError(
      'invalid',
      'TwoNamespaces',
      `--namespace is ${safeText(namespace)}, but the pod is ${safeText(plain)}`,
    );
  return { name: plain.slice(slash + 1), within };
}

function candidates(found: readonly PodName[]): string {
  const names = found.map((pod) => safeText(`${pod.namespace}/${pod.name}`)).sort();
  const more = names.length - mostCandidates;
  return `${names.slice(0, mostCandidates).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}
