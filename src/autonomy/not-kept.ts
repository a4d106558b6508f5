// The errors of objects that are read while the API server cannot be reached. Pure.
import { describeError, KubeletError } from '../base/errors.ts';
import { describeRef, type ObjectRef, secretKinds } from './kept-kinds.ts';

/** Names the setting if the object is not kept because of it, so that the pod's events and /explain have the reason. */
export function notKept(
  ref: ObjectRef,
  { failure, keepSecrets }: { readonly keepSecrets: boolean; readonly failure: unknown },
): KubeletError {
  const why = !keepSecrets && secretKinds.includes(ref.kind) ? ' (--autonomy=WithoutSecrets)' : '';
  const since = failure === undefined ? '' : `: ${describeError(failure)}`;
  const message = `${describeRef(ref)} is not kept on this node${why}, and the API server cannot be reached${since}`;
  return new KubeletError('unavailable', 'NotKept', message);
}

/** As the API server answered when it could be reached. */
export function notFound(ref: ObjectRef): KubeletError {
  return new KubeletError('not-found', 'NotFound', `${describeRef(ref)} not found`);
}
