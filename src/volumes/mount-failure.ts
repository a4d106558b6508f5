// What a pod's worker hears when volumes could not be mounted: upstream's words, all of them named. Pure.
// Upstream: WaitForAttachAndMount in pkg/kubelet/volumemanager.
import { describeError, KubeletError } from '../base/errors.ts';

export function mountFailure(
  failures: readonly { readonly name: string; readonly err: unknown }[],
): KubeletError {
  const names = failures.map(({ name }) => name).join(' ');
  const texts = failures.map(({ err }) => describeError(err)).join(', ');
  const [first] = failures;
  const kind = first?.err instanceof KubeletError ? first.err.kind : 'internal';
  const message = `unmounted volumes=[${names}], unattached volumes=[], failed to process volumes=[]: ${texts}`;
  return new KubeletError(kind, 'FailedMount', message, { cause: first?.err });
}
