// The termination message of an exited container: the content of its message file or, with FallbackToLogsOnError, the end of
// its log. Upstream: convertToKubeContainerStatus and getTerminationMessage in kuberuntime_container.go, kuberuntime/logs.
// Invariant: an unreadable file is reported in the message and never fails the inspection.
import { resolve } from 'node:path/posix';
import { ContainerState, type ContainerStatus } from '../api/cri/generated/runtime/v1/api.ts';
import { criAnnotations } from '../api/cri/labels.ts';
import { describeError, isAbort } from '../base/errors.ts';

/** The last bytes of a regular file, and whether they are the whole file; undefined when the file does not exist. */
type Tail = Promise<{ readonly bytes: Uint8Array; readonly whole: boolean } | undefined>;

/** Both refuse symbolic links: the text is visible to every user who may read the pod. */
export interface TailFiles {
  /** Of a termination message. */
  readTail(path: string, bytes: number): Tail;
  /** Of a container's log. */
  readLogTail(path: string, containerId: string, bytes: number): Tail;
}

const fileBytes = 4096;
const logBytes = 2048;
const logLines = 80;
/** Enough raw bytes for `logLines` lines or `logBytes` bytes of content, whichever is less: runtimes split lines at 16 KiB. */
const rawLogBytes = 48 * 1024;

/** The runtime's message followed by the container's termination message; while the container runs, the runtime's alone. */
export async function fullMessage(status: ContainerStatus, files: TailFiles | undefined): Promise<string> {
  if (files === undefined || status.state !== ContainerState.CONTAINER_EXITED) return status.message;
  const own = await containerMessage(status, files);
  return [status.message, own].filter((part) => part !== '').join(': ');
}

async function containerMessage(status: ContainerStatus, files: TailFiles): Promise<string> {
  const policy = status.annotations[criAnnotations.terminationMessagePolicy] ?? '';
  const path = messageFile(status);
  const written = path === undefined ? '' : await readFile(files, path);
  // A container that could not start has no log.
  const fromLog =
    policy === 'FallbackToLogsOnError' && status.exitCode !== 0 && status.reason !== 'ContainerCannotRun';
  return written === '' && fromLog ? await readLog(files, status) : written;
}

/** The path on the node, from the container's mounts: another kubelet may have created the container. */
function messageFile(status: Pick<ContainerStatus, 'annotations' | 'mounts'>): string | undefined {
  const messagePath = status.annotations[criAnnotations.terminationMessagePath] ?? '';
  if (messagePath === '') return undefined;
  const containerPath = resolve('/', messagePath);
  return status.mounts.find((mount) => mount.containerPath === containerPath)?.hostPath;
}

async function readFile(files: TailFiles, path: string): Promise<string> {
  try {
    const tail = await files.readTail(path, fileBytes);
    return tail === undefined ? '' : new TextDecoder().decode(tail.bytes);
  } catch (err) {
    if (isAbort(err)) throw err;
    return `Error on reading termination log ${path}: ${describeError(err)}`;
  }
}

async function readLog(files: TailFiles, status: ContainerStatus): Promise<string> {
  const { id, logPath: path } = status;
  if (path === '') return '';
  try {
    const tail = await files.readLogTail(path, id, rawLogBytes);
    if (tail === undefined) return '';
    return logTail(new TextDecoder().decode(tail.bytes), tail.whole);
  } catch (err) {
    if (isAbort(err)) throw err;
    return `Error on reading termination message from logs: ${describeError(err)}`;
  }
}

/** The content of the last 80 lines, at most its last 2048 bytes. `whole`: the text begins at the start of a line. */
export function logTail(raw: string, whole: boolean): string {
  const lines = raw.split('\n');
  // The last line is still being written.
  lines.pop();
  if (!whole && lines.length > 1) lines.shift();
  const content = lines
    .slice(-logLines)
    .map((line) => lineContent(line))
    .join('');
  const bytes = new TextEncoder().encode(content);
  if (bytes.length <= logBytes) return content;
  return new TextDecoder().decode(bytes.subarray(bytes.length - logBytes));
}

/** `<time> stdout F text`, with `P` for a partial line; older runtimes wrote one JSON object per line. */
function lineContent(line: string): string {
  if (line.startsWith('{')) return jsonContent(line);
  const [, tags, text = ''] = /^\S+ (?:stdout|stderr) (\S+) ?(.*)$/s.exec(line) ?? [];
  if (tags === undefined) return `${line}\n`;
  return tags.split(':')[0] === 'P' ? text : `${text}\n`;
}

function jsonContent(line: string): string {
  try {
    const { log } = JSON.parse(line) as { readonly log?: unknown };
    return typeof log === 'string' ? log : '';
  } catch {
    return `${line}\n`;
  }
}
