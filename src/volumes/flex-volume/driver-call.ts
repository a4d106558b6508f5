// Calls a FlexVolume driver once. Upstream: DriverCall.Run in pkg/volume/flexvolume/driver-call.go.
// Invariants: a call-out has a deadline and bounded output; a command that a driver does not support is not called again until
// its executable changes; options and secrets never become part of an error.
import type { HostPrograms } from '../../api/ports/host-programs.ts';
import { isKind, KubeletError } from '../../base/errors.ts';
import { type DriverAnswer, type DriverCapabilities, readAnswer } from './driver-answer.ts';
import { withoutSecrets } from './sensitive.ts';

type DriverCommand =
  | 'init'
  | 'getvolumename'
  | 'attach'
  | 'waitforattach'
  | 'mountdevice'
  | 'mount'
  | 'unmount'
  | 'unmountdevice'
  | 'detach'
  | 'expandfs';

/** One incarnation of a driver's executable, after its init. */
export interface FlexDriver {
  readonly name: string;
  readonly path: string;
  /** Differs from that of a replaced executable. */
  readonly identity: string;
  readonly capabilities: DriverCapabilities;
  /** Commands that it answered with `Not supported`. */
  readonly unsupported: Set<string>;
}

interface DriverCall {
  readonly command: DriverCommand;
  readonly args: readonly string[];
  /** Default: callTimeoutMs. */
  readonly timeoutMs?: number;
  /** Forms of secrets in the arguments. */
  readonly secrets?: readonly string[];
}

/** differs from upstream, which has a deadline for waitforattach only: a call-out that hangs would block the volume forever. */
const callTimeoutMs = 120_000;
const outputBytes = 64 * 1024;
const longestMessage = 2_000;
const success = 'Success';
const notSupported = 'Not supported';

/** Resolves to undefined if the driver does not support the command. */
export async function callDriver(
  programs: Pick<HostPrograms, 'run'>,
  driver: Pick<FlexDriver, 'name' | 'path' | 'unsupported'>,
  call: DriverCall,
  signal: AbortSignal,
): Promise<DriverAnswer | undefined> {
  const { command, secrets = [] } = call;
  if (driver.unsupported.has(command)) return undefined;
  const { code, output } = await run(programs, driver, call, signal);
  const answer = readOutput(command, output);
  if (answer.status === notSupported) {
    driver.unsupported.add(command);
    return undefined;
  }
  if (answer.status !== success) {
    const reason = shortened(withoutSecrets(answer.message, secrets));
    const status = shortened(withoutSecrets(answer.status, secrets));
    throw failed(`${command} command failed, status: ${status}, reason: ${reason}`);
  }
  if (code === 0) return answer;
  const end = code === undefined ? 'a signal' : `exit status ${code}`;
  throw failed(`${command} command failed: the driver reported ${success}, but ended with ${end}`);
}

async function run(
  programs: Pick<HostPrograms, 'run'>,
  { name, path }: Pick<FlexDriver, 'name' | 'path'>,
  { command, args, secrets = [], timeoutMs = callTimeoutMs }: DriverCall,
  signal: AbortSignal,
): Promise<{ readonly code: number | undefined; readonly output: string }> {
  const sensitive = [...secrets, ...(secrets.length === 0 ? [] : args)];
  const request = { program: path, args: [command, ...args], timeoutMs, sensitive, outputBytes };
  try {
    const { code, stdout, stderr } = await programs.run(request, signal);
    // differs from upstream, which parses both streams as one, so that a warning on stderr breaks a call that succeeded.
    return { code, output: stdout.trim() === '' ? stderr : stdout };
  } catch (err) {
    if (signal.aborted) throw err;
    const kind = err instanceof KubeletError ? err.kind : 'internal';
    if (kind === 'timeout') {
      const message = `${command} command of FlexVolume driver ${name} did not end within ${timeoutMs / 1000} s`;
      throw new KubeletError('timeout', 'DriverTimeout', message);
    }
    if (isKind(err, 'not-found'))
      throw new KubeletError(
        'not-found',
        'DriverNotFound',
        `${path} does not exist, or its interpreter does not`,
      );
    const message = `cannot run FlexVolume driver ${name}`;
    throw new KubeletError(kind, 'DriverFailed', message, { cause: err });
  }
}

function readOutput(command: string, output: string): DriverAnswer {
  try {
    if (Buffer.byteLength(output) < outputBytes) return readAnswer(output);
  } catch (err) {
    throw failed(`${command} command failed`, err);
  }
  throw failed(`${command} command failed: the answer has more than ${outputBytes} bytes`);
}

function shortened(text: string): string {
  return text.length <= longestMessage ? text : `${text.slice(0, longestMessage)}…`;
}

function failed(message: string, cause?: unknown): KubeletError {
  return new KubeletError('internal', 'DriverFailed', message, cause === undefined ? {} : { cause });
}
