// The DevicePlugin service: what the kubelet calls after the plugin has registered.
// Invariant: an answer depends on the request and the device list alone, so that a call repeated after a restart of the
// kubelet or of the plugin gives the same devices.
import { rmSync } from 'node:fs';
import {
  Server,
  ServerCredentials,
  type ServerUnaryCall,
  type ServerWritableStream,
  type ServiceError,
  type sendUnaryData,
  status,
} from '@grpc/grpc-js';
import {
  type AllocateRequest,
  type AllocateResponse,
  type ContainerAllocateResponse,
  type Device,
  DevicePluginDefinition,
  type DevicePluginOptions,
  type Empty,
  type ListAndWatchResponse,
  type PreferredAllocationRequest,
  type PreferredAllocationResponse,
} from '../../src/api/kubelet/generated/deviceplugin/v1beta1/api.ts';
import {
  type PluginInfo,
  RegistrationDefinition,
} from '../../src/api/kubelet/generated/pluginregistration/v1/api.ts';
import type { DeviceList, SampleDevice } from './device.ts';
import { serviceDefinition } from './grpc.ts';

/** Answers one call. Tests replace it by the faults of faults.ts. */
export type Respond = <Answer>(call: string, request: unknown, answer: () => Answer) => Promise<Answer>;

export const respondAtOnce: Respond = async (_call, _request, answer) => answer();

export interface SampleOptions {
  /** The name that pods request, such as example.com/sample. */
  readonly resource: string;
  readonly preStart: boolean;
  readonly preferred: boolean;
  /** Containers get CDI names instead of device nodes. */
  readonly cdi: boolean;
  /** A host directory that containers get read-only at /var/lib/sample. */
  readonly mount?: string | undefined;
}

interface ServiceDeps {
  readonly devices: DeviceList;
  readonly options: SampleOptions;
  readonly respond: Respond;
}

type Unary<Request, Response> = (
  call: ServerUnaryCall<Request, Response>,
  reply: sendUnaryData<Response>,
) => void;

export class SampleService {
  readonly #deps: ServiceDeps;
  #server: Server | undefined;

  constructor(deps: ServiceDeps) {
    this.#deps = deps;
  }

  /** Serves on this socket, instead of the previous one; `info` is answered to the kubelet's plugin manager. */
  async start(socket: string, info?: PluginInfo): Promise<void> {
    this.stop();
    // A killed plugin leaves its socket behind, and the name cannot be bound again while it exists.
    rmSync(socket, { force: true });
    const server = new Server({ 'grpc.enable_channelz': 0 });
    server.addService(serviceDefinition(DevicePluginDefinition), {
      getDevicePluginOptions: this.#unary('GetDevicePluginOptions', () => this.devicePluginOptions()),
      listAndWatch: (stream: ServerWritableStream<Empty, ListAndWatchResponse>) =>
        void this.#listAndWatch(stream),
      getPreferredAllocation: this.#unary('GetPreferredAllocation', preferredAllocation),
      allocate: this.#unary('Allocate', (request: AllocateRequest) => this.#allocate(request)),
      preStartContainer: this.#unary('PreStartContainer', () => ({})),
    });
    if (info !== undefined)
      server.addService(serviceDefinition(RegistrationDefinition), {
        getInfo: this.#unary('GetInfo', () => info),
        notifyRegistrationStatus: this.#unary('NotifyRegistrationStatus', () => ({})),
      });
    await new Promise<void>((resolve, reject) =>
      server.bindAsync(`unix:${socket}`, ServerCredentials.createInsecure(), (err) =>
        err === null ? resolve() : reject(err),
      ),
    );
    this.#server = server;
  }

  /** Ends all calls and removes the socket. */
  stop(): void {
    this.#server?.forceShutdown();
    this.#server = undefined;
  }

  devicePluginOptions(): DevicePluginOptions {
    const { preStart, preferred } = this.#deps.options;
    return { preStartRequired: preStart, getPreferredAllocationAvailable: preferred };
  }

  #unary<Request, Response>(name: string, answer: (request: Request) => Response): Unary<Request, Response> {
    const respond = async (request: Request, reply: sendUnaryData<Response>): Promise<void> => {
      try {
        reply(null, await this.#deps.respond(name, request, () => answer(request)));
      } catch (err) {
        reply(toStatus(err));
      }
    };
    return ({ request }, reply) => void respond(request, reply);
  }

  /** Sends the complete list at once and after every change, until the kubelet or the plugin ends. */
  async #listAndWatch(stream: ServerWritableStream<Empty, ListAndWatchResponse>): Promise<void> {
    const { devices, respond } = this.#deps;
    const list = (): ListAndWatchResponse => ({ devices: devices.all().map(toMessage) });
    try {
      stream.write(await respond('ListAndWatch', stream.request, list));
      if (stream.cancelled) return;
      const unsubscribe = devices.onChange(() => stream.write(list()));
      stream.once('cancelled', unsubscribe);
    } catch (err) {
      stream.emit('error', toStatus(err));
    }
  }

  #allocate({ containerRequests }: AllocateRequest): AllocateResponse {
    return {
      containerResponses: containerRequests.map(({ devicesIds }) => this.#containerResponse(devicesIds)),
    };
  }

  #containerResponse(ids: readonly string[]): ContainerAllocateResponse {
    const { devices, options } = this.#deps;
    const { cdi, mount, resource } = options;
    const found = ids.map((id) => {
      const device = devices.get(id);
      if (device === undefined) throw new Error(`unknown device ${id}`);
      return device;
    });
    return {
      envs: { SAMPLE_DEVICES: ids.join(',') },
      mounts:
        mount === undefined ? [] : [{ hostPath: mount, containerPath: '/var/lib/sample', readOnly: true }],
      devices: cdi
        ? []
        : found.map(({ id, hostPath }) => ({
            hostPath,
            containerPath: `/dev/sample-${id}`,
            permissions: 'rw',
          })),
      annotations: { 'sample-device-plugin/devices': ids.join(',') },
      cdiDevices: cdi ? ids.map((id) => ({ name: `${resource}=${id}` })) : [],
    };
  }
}

function toMessage({ id, healthy, numaNode }: SampleDevice): Device {
  return {
    ID: id,
    health: healthy ? 'Healthy' : 'Unhealthy',
    topology: numaNode === undefined ? undefined : { nodes: [{ ID: BigInt(numaNode) }] },
  };
}

/** Prefers the devices at the end of the list, so that a test can distinguish the preference from the choice of the kubelet. */
function preferredAllocation({ containerRequests }: PreferredAllocationRequest): PreferredAllocationResponse {
  return {
    containerResponses: containerRequests.map(
      ({ availableDeviceIDs, mustIncludeDeviceIDs, allocationSize }) => {
        const must = new Set(mustIncludeDeviceIDs);
        const others = availableDeviceIDs.filter((id) => !must.has(id)).toSorted();
        const missing = Math.max(0, allocationSize - must.size);
        return { deviceIDs: [...must, ...others.slice(others.length - Math.min(missing, others.length))] };
      },
    ),
  };
}

function toStatus(err: unknown): Partial<ServiceError> {
  const details = err instanceof Error ? err.message : String(err);
  return Object.assign(new Error(details), { code: status.INTERNAL, details });
}
