// Finds out whether a file can be read, before this process reads it. Invariant: a file system that does not answer, and a pipe
// without a writer, block a child process only: a thread of this process that waits for it could not be ended, and would keep
// the command from exiting.
import { resolve } from 'node:path';
import type { ClusterAccess } from '../../api/ports/cluster-access.ts';
import { KubeletError } from '../../base/errors.ts';
import { NodePrograms } from '../host-programs/host-programs.ts';

/** Larger than any configuration or bundle of certificates. */
const longestFile = 4 * 1024 * 1024;
/** The caller's deadline is shorter. */
const timeoutMs = 60_000;

/** Silent about a file that cannot be found or opened: the read that follows has the error. */
const script = `found=$(stat -L -c '%s %F' -- "$0") || exit 0
echo "$found"
case $found in *' regular '*) head -c 1 -- "$0" >/dev/null ;; esac`;

/** What the shell opened for this process, as in --config <(command), is not a file of the machine. */
const ownDescriptor = /^\/(dev\/(fd\/|stdin$)|proc\/self\/fd\/)/;

/** Rejects if the file does not answer before the signal, is no file, or is too large. */
export async function untilAnswers(path: string, signal: AbortSignal): Promise<void> {
  if (ownDescriptor.test(path)) return;
  const args = ['LC_ALL=C', 'sh', '-c', script, resolve(path)];
  const run = { program: 'env', args, timeoutMs, outputBytes: 1024 };
  const { stdout } = await new NodePrograms().run(run, signal);
  const [, size, kind = ''] = /^([0-9]{1,20}) (.*)$/m.exec(stdout) ?? [];
  if (size === undefined || kind === 'directory') return;
  if (!kind.startsWith('regular '))
    throw new KubeletError('invalid', 'NotAFile', `${path} is a ${kind}, not a file`);
  if (Number(size) > longestFile)
    throw new KubeletError('invalid', 'FileTooLarge', `${path} is larger than ${longestFile} bytes`);
}

/** The files that a kubeconfig names. */
export function filesOf({ ca, clientCertificate, tokenFile }: ClusterAccess): readonly string[] {
  const materials = [ca, clientCertificate?.cert, clientCertificate?.key];
  const files = materials.flatMap((each) => (each !== undefined && 'file' in each ? [each.file] : []));
  return [...new Set(tokenFile === undefined ? files : [...files, tokenFile])];
}
