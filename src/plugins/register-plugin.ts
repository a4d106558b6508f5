// The handshake with a plugin: read its info, have its handler register it, notify the plugin of the outcome.
// Invariants: a plugin whose handler has registered it, but which did not learn of it, is deregistered again; the connection is
// closed at the end; whatever the plugin and the handler do, the handshake ends.
// Upstream: GenerateRegisterPluginFunc in pkg/kubelet/pluginmanager/operationexecutor.
import { rpcErrorText } from '../api/cri/runtime.ts';
import type {
  PluginInfo as PluginInfoMessage,
  RegistrationStatus,
} from '../api/kubelet/generated/pluginregistration/v1/api.ts';
import { withDeadline } from '../base/abort/deadline.ts';
import type { Clock } from '../base/clock.ts';
import { describeError, KubeletError } from '../base/errors.ts';
import type { PluginHandler, PluginHandlers, PluginInfo } from './plugin-handler.ts';

/** The registration service of one plugin. Every call has a deadline of its own. */
interface RegistrationConnection {
  info(signal: AbortSignal): Promise<PluginInfoMessage>;
  notify(status: RegistrationStatus, signal: AbortSignal): Promise<void>;
  close(): void;
}

export interface RegisterPluginDeps {
  readonly dial: (socket: string, signal: AbortSignal) => Promise<RegistrationConnection>;
  readonly handlers: PluginHandlers;
  readonly clock: Clock;
}

/** Longer than any handler takes: NodeGetInfo of CSI has 2 min. */
const registerMs = 180_000;

/** `undo` is called with a plugin that its handler may have registered in vain. */
export async function registerPlugin(
  deps: RegisterPluginDeps,
  socket: string,
  undo: (handler: PluginHandler, info: PluginInfo) => Promise<void>,
  signal: AbortSignal,
): Promise<PluginInfo> {
  const connection = await step(signal, `dial failed at socket ${socket}, err: `, () =>
    deps.dial(socket, signal),
  );
  try {
    const info = await readInfo(connection, socket, signal);
    const handler = deps.handlers.get(info.type);
    if (handler === undefined) {
      const text = `no handler registered for plugin type: ${info.type} at socket ${socket}`;
      return await reject(connection, socket, text, signal);
    }
    const fault = handler.validate(info);
    if (fault !== undefined)
      return await reject(connection, socket, `plugin validation failed with err: ${fault}`, signal);
    try {
      await callHandler(deps.clock, handler, info, signal);
    } catch (err) {
      if (signal.aborted || isGivenUp(err)) await undo(handler, info);
      signal.throwIfAborted();
      const text = `plugin registration failed with err: ${describeError(err)}`;
      return await reject(connection, socket, text, signal);
    }
    try {
      const what = `failed to send registration status at socket ${socket}, err: `;
      await step(signal, what, () => connection.notify({ pluginRegistered: true, error: '' }, signal));
    } catch (err) {
      await undo(handler, info);
      throw err;
    }
    return info;
  } finally {
    connection.close();
  }
}

async function readInfo(
  connection: RegistrationConnection,
  socket: string,
  signal: AbortSignal,
): Promise<PluginInfo> {
  const what = `failed to get plugin info using RPC GetInfo at socket ${socket}, err: `;
  const info = await step(signal, what, () => connection.info(signal));
  const { name, supportedVersions: versions, type } = info;
  return { socket, type, name, versions, endpoint: info.endpoint === '' ? socket : info.endpoint };
}

function callHandler(
  clock: Clock,
  handler: PluginHandler,
  info: PluginInfo,
  signal: AbortSignal,
): Promise<void> {
  const options = { clock, ms: registerMs, signal, what: 'the registration of the plugin' };
  return withDeadline(options, (stop) => handler.register(info, stop));
}

/** The handler did not respond in time and may still register the plugin. */
function isGivenUp(err: unknown): boolean {
  return err instanceof KubeletError && err.reason === 'DeadlineExceeded';
}

/** Notifies the plugin why it is rejected, and throws. */
async function reject(
  connection: RegistrationConnection,
  socket: string,
  why: string,
  signal: AbortSignal,
): Promise<never> {
  const error = `${prefix}${why}`;
  const what = `failed to send error at socket ${socket}, err: ${why}: `;
  await step(signal, what, () => connection.notify({ pluginRegistered: false, error }, signal));
  throw new KubeletError('invalid', 'PluginRejected', error);
}

const prefix = 'RegisterPlugin error -- ';

/** Adds upstream's text to the error of a call. An abort stays as it is. */
async function step<T>(signal: AbortSignal, what: string, call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (err) {
    signal.throwIfAborted();
    const kind = err instanceof KubeletError ? err.kind : 'internal';
    const text = err instanceof KubeletError ? rpcErrorText(err) : describeError(err);
    throw new KubeletError(kind, 'PluginUnreachable', `${prefix}${what}${text}`, { cause: err });
  }
}
