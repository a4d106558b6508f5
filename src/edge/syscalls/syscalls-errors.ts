// Turns errors of the kernel into KubeletErrors, from the errno of a system call or from an error of node:fs.
// Invariant: the reason is the name of the errno (EPERM), so that it reads the same in log, status and documentation.
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

/** The error of a call that returned -1 with this errno. `what` names the operation: "mount /a on /b". */
export function errnoError(errno: number, what: string, details: Record<string, unknown> = {}): KubeletError {
  const [name, text] = getSystemErrorMap().get(-errno) ?? [`errno ${errno}`, 'unknown error'];
  return new KubeletError(kinds[name] ?? 'internal', name, `${what}: ${name}: ${text}`, { details });
}

/** The same for an error thrown by node:fs; any other error is wrapped as internal. */
export function hostError(err: unknown, what: string, details: Record<string, unknown> = {}): KubeletError {
  const code = errorCode(err) ?? 'Unknown';
  return new KubeletError(kinds[code] ?? 'internal', code, what, { cause: err, details });
}

export function errorCode(err: unknown): string | undefined {
  if (!(err instanceof Error) || !('code' in err)) return undefined;
  return typeof err.code === 'string' ? err.code : undefined;
}
