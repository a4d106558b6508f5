// Serves the driver's endpoint, and registers through a socket in the kubelet's plugins_registry, where the kubelet finds it.
// Both sockets are created again if they vanish, as after the kubelet's directory was emptied.
import { statSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { serve } from './grpc.ts';
import { type DriverOptions, socketsOf } from './options.ts';
import { csiServices, registrationServices, type Services } from './services.ts';

const pollMs = 200;

interface ServedSocket {
  readonly path: string;
  readonly services: typeof csiServices | typeof registrationServices;
  /** The identity of the socket that this process made. */
  served: string | undefined;
  stop: () => void;
}

/** Until the signal; then it removes both sockets. */
export async function keepRegistered(
  options: DriverOptions,
  services: Services,
  signal: AbortSignal,
): Promise<void> {
  const { endpoint, registration } = socketsOf(options);
  const sockets = [
    // The endpoint first: the kubelet calls it as soon as it knows of it.
    { path: endpoint, services: csiServices },
    { path: registration, services: registrationServices },
  ].map((socket): ServedSocket => ({ ...socket, served: undefined, stop: () => undefined }));
  while (!signal.aborted) {
    const isFirst = sockets.every(({ served }) => served === undefined);
    for (const socket of sockets) {
      if (socket.served !== undefined && identityOf(socket.path) === socket.served) continue;
      socket.stop();
      socket.stop = await serve(socket.path, socket.services, (call) => services.answer(call));
      socket.served = identityOf(socket.path);
    }
    // Processes that start this one wait for it.
    if (isFirst) console.log('serving');
    await sleep(pollMs, undefined, { signal }).catch(() => undefined);
  }
  // In reverse, so that the kubelet deregisters a driver that still answers.
  for (const socket of sockets.toReversed()) socket.stop();
}

/** Differs for a socket that was removed and created again; undefined if there is none. */
function identityOf(path: string): string | undefined {
  const found = statSync(path, { throwIfNoEntry: false });
  return found === undefined ? undefined : `${found.ino}:${found.birthtimeMs}`;
}
