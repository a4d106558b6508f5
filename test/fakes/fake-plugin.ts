// Plugins on real unix sockets, whose answers a test scripts: the registration service, the device plugin service, and sockets
// that speak no gRPC at all.
import { createServer, type Socket } from 'node:net';
import {
  type AllocateResponse,
  type Device,
  DevicePluginDefinition,
} from '../../src/api/kubelet/generated/deviceplugin/v1beta1/api.ts';
import {
  type PluginInfo,
  RegistrationDefinition,
  type RegistrationStatus,
} from '../../src/api/kubelet/generated/pluginregistration/v1/api.ts';
import { type RpcHandlers, type RpcService, rpcService } from '../../src/api/kubelet/rpc-service.ts';
import { realClock } from '../../src/base/clock.ts';
import { listenGrpc } from '../../src/edge/grpc-server/listen-grpc.ts';

export interface FakeServer {
  close(): Promise<void>;
}

/** Never settles by itself. */
export const hang = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)));

export function serveServices(path: string, services: readonly RpcService[]): Promise<FakeServer> {
  const limits = { closeMs: 20 };
  return listenGrpc({ path, services, limits, clock: realClock, onError: () => undefined });
}

type Registration = RpcHandlers<typeof RegistrationDefinition>;

/** The registration service of a plugin. `statuses` collects its notifications. */
export function registrationService(
  info: Partial<PluginInfo>,
  statuses: RegistrationStatus[],
  changes: Partial<Registration> = {},
): RpcService {
  return rpcService(RegistrationDefinition, {
    getInfo: async () => ({
      type: 'DevicePlugin',
      name: 'example.com/gpu',
      endpoint: '',
      supportedVersions: ['v1beta1'],
      ...info,
    }),
    notifyRegistrationStatus: async (status) => {
      statuses.push(status);
      return {};
    },
    ...changes,
  });
}

type DevicePlugin = RpcHandlers<typeof DevicePluginDefinition>;

export function aDevice(id: string, changes: Partial<Device> = {}): Device {
  return { ID: id, health: 'Healthy', topology: undefined, ...changes };
}

export const emptyAllocation: AllocateResponse = {
  containerResponses: [{ envs: {}, mounts: [], devices: [], annotations: {}, cdiDevices: [] }],
};

/** Lists two devices and waits. */
export function devicePluginService(changes: Partial<DevicePlugin> = {}): RpcService {
  return rpcService(DevicePluginDefinition, {
    getDevicePluginOptions: async () => ({ preStartRequired: false, getPreferredAllocationAvailable: false }),
    listAndWatch: async function* (_, { signal }) {
      yield { devices: [aDevice('a'), aDevice('b')] };
      await hang(signal);
    },
    getPreferredAllocation: async () => ({ containerResponses: [] }),
    allocate: async () => emptyAllocation,
    preStartContainer: async () => ({}),
    ...changes,
  });
}

/** A socket that speaks no gRPC. `onConnection` may write anything. */
export async function serveRaw(
  path: string,
  onConnection: (socket: Socket) => void = () => undefined,
): Promise<FakeServer> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.resume();
    onConnection(socket);
  });
  await new Promise<void>((resolve) => server.listen(path, resolve));
  return {
    close: () =>
      new Promise((resolve) => {
        for (const socket of sockets) socket.destroy();
        server.close(() => resolve());
      }),
  };
}
