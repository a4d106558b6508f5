// Registration, in either of the two ways: a call on the kubelet's socket, or a socket of the plugin in the kubelet's
// plugins_registry. A plugin needs only one of them.
import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type DevicePluginOptions,
  type RegisterRequest,
  RegistrationDefinition,
} from '../../src/api/kubelet/generated/deviceplugin/v1beta1/api.ts';
import { callOnce } from './grpc.ts';
import type { SampleService } from './service.ts';

const pollMs = 250;

interface Registration {
  readonly service: SampleService;
  readonly resource: string;
  readonly signal: AbortSignal;
  readonly log: (message: string) => void;
}

/** The file name of the plugin's socket. */
export function socketName(resource: string): string {
  return `${resource.replaceAll('/', '_')}.sock`;
}

/** Calls Register once. The plugin must already serve on `endpoint`, since the kubelet connects before it answers. */
export async function register(
  dir: string,
  endpoint: string,
  resourceName: string,
  options?: DevicePluginOptions,
): Promise<void> {
  const request: RegisterRequest = { version: 'v1beta1', endpoint, resourceName, options };
  await callOnce(join(dir, 'kubelet.sock'), RegistrationDefinition, 'register', request);
}

/**
 * Serves in the kubelet's device-plugins directory and registers with every kubelet that starts: it removes all sockets
 * in the directory and creates kubelet.sock. Polling also works while the directory does not exist.
 */
export async function keepRegistered(dir: string, registration: Registration): Promise<void> {
  const { service, resource, signal, log } = registration;
  const endpoint = socketName(resource);
  const own = join(dir, endpoint);
  let served: string | undefined;
  let registered: string | undefined;
  while (!signal.aborted) {
    const kubelet = identityOf(join(dir, 'kubelet.sock'));
    const isServed = served !== undefined && identityOf(own) === served;
    if (kubelet !== undefined && !(isServed && kubelet === registered)) {
      try {
        if (!isServed) await service.start(own);
        served = identityOf(own);
        await register(dir, endpoint, resource, service.devicePluginOptions());
        registered = kubelet;
        log(`registered ${resource} with the kubelet in ${dir}`);
      } catch (err) {
        log(`failed to register, will retry: ${String(err)}`);
      }
    }
    await sleep(pollMs, undefined, { signal }).catch(() => undefined);
  }
  service.stop();
}

/** Serves in the kubelet's plugins_registry, where the kubelet finds the socket and calls GetInfo. */
export async function keepInRegistry(dir: string, registration: Registration): Promise<void> {
  const { service, resource, signal, log } = registration;
  const own = join(dir, socketName(resource));
  const info = { type: 'DevicePlugin', name: resource, endpoint: own, supportedVersions: ['v1beta1'] };
  let served: string | undefined;
  while (!signal.aborted) {
    if (existsSync(dir) && (served === undefined || identityOf(own) !== served)) {
      try {
        await service.start(own, info);
        served = identityOf(own);
        log(`serving ${resource} in ${dir}`);
      } catch (err) {
        log(`failed to serve, will retry: ${String(err)}`);
      }
    }
    await sleep(pollMs, undefined, { signal }).catch(() => undefined);
  }
  service.stop();
}

/** Differs for a file that was removed and created again; undefined if there is none. */
function identityOf(path: string): string | undefined {
  const found = statSync(path, { throwIfNoEntry: false });
  return found === undefined ? undefined : `${found.ino}:${found.birthtimeMs}`;
}
