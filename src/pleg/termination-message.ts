// The last words of a container that ended: what it wrote into its message file or, where it asks for that, the end of its log.
// Upstream: convertToKubeContainerStatus and getTerminationMessage in kuberuntime_container.go, pkg/kubelet/kuberuntime/logs.
// Invariant: the pure parts get bytes and give text; a file that cannot be read is said in the message, never an inspection's failure.
import { resolve } from 'node:path/posix';
import { ContainerState, type ContainerStatus } from '../api/cri/generated/runtime/v1/api.ts';
import { criAnnotations } from '../api/cri/labels.ts';
import { describeError, isAbort } from '../base/errors.ts';

/** The last bytes of a regular file, and whether that is all of it; undefined when there is no such file. */
type Tail = Promise<{ readonly bytes: Uint8Array; readonly whole: boolean } | undefined>;

/** Both refuse what a link leads to: the text is shown to whoever may read the pod. */
export interface TailFiles {
  /** Of a termination message. */
  readTail(path: string, bytes: number): Tail;
  /** Of a container's log. */
  readLogTail(path: string, containerId: string, bytes: number): Tail;
}

const fileBytes = 4096;
const logBytes = 2048;
const logLines = 80;
/** Enough for that many lines or that many bytes of content, whichever is less: runtimes cut lines at 16 KiB. */
const rawLogBytes = 48 * 1024;

/** The runtime's own message, and after it what the container left; the runtime's alone while it runs. */
export async function fullMessage(status: ContainerStatus, files: TailFiles | undefined): Promise<string> {
  if (files === undefined || status.state !== ContainerState.CONTAINER_EXITED) return status.message;
  const left = await lastWords(status, files);
  return [status.message, left].filter((part) => part !== '').join(': ');
}

async function lastWords(status: ContainerStatus, files: TailFiles): Promise<string> {
  const policy = status.annotations[criAnnotations.terminationMessagePolicy] ?? '';
  const path = messageFile(status);
  const written = path === undefined ? '' : await readFile(files, path);
  // What could not even start has no log.
  const fromLog =
    policy === 'FallbackToLogsOnError' && status.exitCode !== 0 && status.reason !== 'ContainerCannotRun';
  return written === '' && fromLog ? await readLog(files, status) : written;
}

/** On the node, by the container's own mounts: the kubelet that made it may not have been this one. */
function messageFile(status: Pick<ContainerStatus, 'annotations' | 'mounts'>): string | undefined {
  const asked = status.annotations[criAnnotations.terminationMessagePath] ?? '';
  if (asked === '') return undefined;
  const containerPath = resolve('/', asked);
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

/** The content of the last 80 lines, at most its last 2048 bytes. `whole`: the text begins where a line does. */
export function logTail(raw: string, whole: boolean): string {
  const lines = raw.split('\n');
  // A line without its end is still being written.
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

/** `<time> stdout F text`, or `P` for a line that goes on; older runtimes wrote a JSON object per line. */
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
