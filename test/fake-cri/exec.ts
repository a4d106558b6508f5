// ExecSync of the fake runtime: a second process in a container, with the container's files and its own output.
// Invariant: as in containerd, the timeout kills the command and fails with an error of its own; the container keeps
// running.
import {
  ContainerState,
  type ExecSyncRequest,
  type ExecSyncResponse,
} from '../../src/api/cri/generated/runtime/v1/api.ts';
import { type Exit, FakeProcess } from './process.ts';
import { findProgram } from './programs.ts';
import { rpcError, unknownError } from './rpc-error.ts';
import type { FakeContainer, FakeState } from './state.ts';

const failed = 'failed to exec in container:';

export async function execSync(
  state: FakeState,
  request: ExecSyncRequest,
  signal: AbortSignal,
): Promise<ExecSyncResponse> {
  const container = state.container(
    request.containerId,
    (text) => `${failed} failed to find container "${text}" in store`,
  );
  if (container.state !== ContainerState.CONTAINER_RUNNING) {
    const name =
      container.state === ContainerState.CONTAINER_CREATED ? 'CONTAINER_CREATED' : 'CONTAINER_EXITED';
    throw unknownError(`${failed} container is in ${name} state`);
  }
  const found = findProgram(request.cmd);
  if ('error' in found) {
    throw unknownError(
      `${failed} failed to start exec "${state.newId()}": OCI runtime exec failed: exec failed: ${found.error}: unknown`,
    );
  }
  const output = { stdout: '', stderr: '' };
  const exit = await runIn(state, container, request, signal, found.program, output);
  return { stdout: Buffer.from(output.stdout), stderr: Buffer.from(output.stderr), exitCode: exit.code };
}

function runIn(
  state: FakeState,
  container: FakeContainer,
  request: ExecSyncRequest,
  signal: AbortSignal,
  program: FakeProcess['deps']['program'],
  output: { stdout: string; stderr: string },
): Promise<Exit> {
  const seconds = Number(request.timeout);
  return new Promise((resolve, reject) => {
    const process = new FakeProcess({
      clock: state.clock,
      program,
      args: request.cmd,
      env: container.env,
      files: container.files,
      isInit: false,
      memoryLimitBytes: Number(container.resources.memoryLimitInBytes),
      write: (stream, text) => (output[stream] += text),
      onExit: (exit) => {
        timer?.cancel();
        container.whenExited.delete(kill);
        signal.removeEventListener('abort', kill);
        resolve(exit);
      },
    });
    const kill = (): void => process.signal('KILL');
    const timeOut = (): void => {
      const message = `${failed} timeout ${seconds}s exceeded: context deadline exceeded`;
      reject(rpcError('DEADLINE_EXCEEDED', message, { commandTimedOut: true }));
      kill();
    };
    const timer = seconds > 0 ? state.clock.setTimer(seconds * 1000, timeOut) : undefined;
    container.whenExited.add(kill);
    signal.addEventListener('abort', kill, { once: true });
    process.start();
  });
}
