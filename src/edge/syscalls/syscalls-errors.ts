// Turns what the kernel refuses into KubeletErrors, whether it came as an errno from a system call or as an error of
// node:fs. Invariant: reason is the errno's name, as EPERM, so that it reads the same in log, status and documentation.
import { getSystemErrorMap } from 'node:util';
import { type ErrorKind, KubeletError } from '../../base/errors.ts';

const kinds: Readonly<Record<string, ErrorKind>> = {
  EACCES: 'forbidden',
  EPERM: 'forbidden',
  EROFS: 'forbidden',
  ENOENT: 'not-found',
  ESRCH: 'not-found',
  EBUSY: 'conflict',
  EEXIST: 'conflict',
  EINVAL: 'invalid',
  ELOOP: 'invalid',
  ENAMETOOLONG: 'invalid',
  ENOTDIR: 'invalid',
  EAGAIN: 'unavailable',
  ECONNREFUSED: 'unavailable',
  EMFILE: 'unavailable',
  ENFILE: 'unavailable',
  ENOBUFS: 'unavailable',
  ENOMEM: 'unavailable',
  ENOSPC: 'unavailable',
  ETIMEDOUT: 'timeout',
};

/** What a call that returned -1 and left this errno failed with. `what` says what was tried: "mount /a on /b". */
export function errnoError(errno: number, what: string, details: Record<string, unknown> = {}): KubeletError {
  const [name, text] = getSystemErrorMap().get(-errno) ?? [`errno ${errno}`, 'unknown error'];
  return new KubeletError(kinds[name] ?? 'internal', name, `${what}: ${name}: ${text}`, { details });
}

/** The same for an error that node:fs threw; anything else is wrapped as internal. */
export function hostError(err: unknown, what: string, details: Record<string, unknown> = {}): KubeletError {
  const code = errorCode(err) ?? 'Unknown';
  return new KubeletError(kinds[code] ?? 'internal', code, what, { cause: err, details });
}

export function errorCode(err: unknown): string | undefined {
  if (!(err instanceof Error) || !('code' in err)) return undefined;
  return typeof err.code === 'string' ? err.code : undefined;
}
