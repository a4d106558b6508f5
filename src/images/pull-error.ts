// Reasons and messages of failed pulls. Pure. Upstream: evalCRIPullErr in image_manager.go, PullImage in kuberuntime_image.go
// and the CRI client, whose texts users search for.
import { goCodeName } from '../api/cri/runtime.ts';
import { describeError, KubeletError } from '../base/errors.ts';

/** Runtimes prefix their messages with these two reasons. */
const namedFailures = [
  ['RegistryUnavailable', 'the registry is unavailable'],
  ['SignatureValidationFailed', 'the signature validation failed'],
] as const;

export function pullError(image: string, cause: unknown): KubeletError {
  if (cause instanceof KubeletError && cause.reason === 'ErrImagePull') return cause;
  const message = runtimeText(cause);
  for (const [reason, why] of namedFailures) {
    if (!message.startsWith(reason)) continue;
    const text = `image pull failed for ${image} because ${why}${message.slice(reason.length)}`;
    // Without a cause: its text is already part of this message.
    return new KubeletError('unavailable', reason, text);
  }
  return new KubeletError('unavailable', 'ErrImagePull', message, { cause });
}

/** Joins the failures of all credentials that were tried: `[a, b]`, without duplicates. */
export function joinedFailure(failures: readonly unknown[]): unknown {
  if (failures.length <= 1) return failures[0];
  const texts = [...new Set(failures.map(runtimeText))];
  return new KubeletError(
    'internal',
    'UNKNOWN',
    texts.length === 1 ? (texts[0] ?? '') : `[${texts.join(', ')}]`,
  );
}

/** With the gRPC code in front; as upstream, without `Unknown`. */
export function runtimeText(err: unknown): string {
  const text = describeError(err);
  const code = err instanceof KubeletError && err.reason !== 'UNKNOWN' ? goCodeName(err.reason) : undefined;
  return code === undefined ? text : `rpc error: code = ${code} desc = ${text}`;
}
