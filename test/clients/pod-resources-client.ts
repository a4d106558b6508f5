// A client of podresources on its socket, with grpc-js, as monitoring agents on a node use it.
import { Client, credentials, Metadata, type ServiceError, status } from '@grpc/grpc-js';
import {
  AllocatableResourcesResponse,
  GetPodResourcesRequest,
  GetPodResourcesResponse,
  ListPodResourcesResponse,
  type PodResources,
} from '../../src/api/kubelet/generated/podresources/v1/api.ts';
import { ListPodResourcesResponse as AlphaListResponse } from '../../src/api/kubelet/generated/podresources/v1alpha1/api.ts';

const identity = (bytes: Buffer): Buffer => bytes;

export class PodResourcesClient {
  readonly #client: Client;

  constructor(socket: string) {
    this.#client = new Client(`unix:${socket}`, credentials.createInsecure(), {
      'grpc.enable_channelz': 0,
      'grpc.use_local_subchannel_pool': 1,
      'grpc.max_receive_message_length': -1,
    });
  }

  async list(): Promise<readonly PodResources[]> {
    return ListPodResourcesResponse.decode(await this.#call('v1', 'List')).podResources;
  }

  /** The names of the pods. */
  async listAlpha(): Promise<readonly string[]> {
    const { podResources } = AlphaListResponse.decode(await this.#call('v1alpha1', 'List'));
    return podResources.map(({ name }) => name);
  }

  async get(podNamespace: string, podName: string): Promise<PodResources | undefined> {
    const request = GetPodResourcesRequest.encode({ podNamespace, podName }).finish();
    return GetPodResourcesResponse.decode(await this.#call('v1', 'Get', Buffer.from(request))).podResources;
  }

  async allocatable(): Promise<AllocatableResourcesResponse> {
    return AllocatableResourcesResponse.decode(await this.#call('v1', 'GetAllocatableResources'));
  }

  close(): void {
    this.#client.close();
  }

  /** Rejects with `UNKNOWN: …` */
  #call(version: string, method: string, request = Buffer.alloc(0)): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      const onEnd = (err: ServiceError | null, answer?: Buffer): void => {
        if (err === null) resolve(answer ?? Buffer.alloc(0));
        else reject(new Error(`${status[err.code]}: ${err.details}`));
      };
      this.#client.makeUnaryRequest(
        `/${version}.PodResourcesLister/${method}`,
        identity,
        identity,
        request,
        new Metadata(),
        { deadline: Date.now() + 10_000 },
        onEnd,
      );
    });
  }
}
