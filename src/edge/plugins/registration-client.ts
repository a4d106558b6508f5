// Calls the registration service that a plugin serves on its socket below plugins_registry.
// Invariants: every call has a deadline; a response has a few KiB, since it names the plugin.
// Upstream: operation_generator.go in pkg/kubelet/pluginmanager/operationexecutor.
import {
  type PluginInfo,
  RegistrationDefinition,
  type RegistrationStatus,
} from '../../api/kubelet/generated/pluginregistration/v1/api.ts';
import type { Clock } from '../../base/clock.ts';
import type { CallRecorder } from '../../base/in-flight-calls.ts';
import { connectUnix } from '../grpc-client/unix-client.ts';

const dialMs = 10_000;
const infoMs = 1_000;
const notifyMs = 5_000;
/** differs from upstream, where it is 4 MiB. */
const responseBytes = 64 * 1024;

const { methods } = RegistrationDefinition;

/** A connection to the registration service of one plugin. */
interface RegistrationClient {
  info(signal: AbortSignal): Promise<PluginInfo>;
  notify(status: RegistrationStatus, signal: AbortSignal): Promise<void>;
  close(): void;
}

export function registrationDialer(clock: Pick<Clock, 'setTimer'>, calls?: CallRecorder) {
  return async (socket: string, signal: AbortSignal): Promise<RegistrationClient> => {
    const limits = { timeoutMs: dialMs, signal };
    const client = await connectUnix({ path: socket, server: 'plugin', clock, calls, ...limits });
    const call = (timeoutMs: number, callSignal: AbortSignal) => ({
      timeoutMs,
      signal: callSignal,
      responseBytes,
    });
    return {
      info: (callSignal) =>
        client.unary(RegistrationDefinition, methods.getInfo, {}, call(infoMs, callSignal)),
      notify: async (status, callSignal) => {
        const { notifyRegistrationStatus } = methods;
        await client.unary(
          RegistrationDefinition,
          notifyRegistrationStatus,
          status,
          call(notifyMs, callSignal),
        );
      },
      close: () => client.close(),
    };
  };
}
