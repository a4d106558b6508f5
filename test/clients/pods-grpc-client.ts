// A client of the Pods API on its socket, with grpc-js, as programs on a node use it.
import { Client, credentials, Metadata, type ServiceError, status } from '@grpc/grpc-js';
import {
  GetPodResponse,
  ListPodsResponse,
  PodsDefinition,
} from '../../src/api/kubelet/generated/pods/v1alpha1/api.ts';
import { eventLine, readPod } from './pods-client.ts';

const identity = (bytes: Buffer): Buffer => bytes;

export class PodsGrpcClient {
  readonly #client: Client;

  constructor(socket: string) {
    this.#client = new Client(`unix:${socket}`, credentials.createInsecure(), {
      'grpc.enable_channelz': 0,
      'grpc.use_local_subchannel_pool': 1,
      'grpc.max_receive_message_length': -1,
      'grpc.initial_reconnect_backoff_ms': 100,
      'grpc.min_reconnect_backoff_ms': 100,
      'grpc.max_reconnect_backoff_ms': 200,
    });
  }

  /** `web Running True` for each pod. */
  async list(): Promise<readonly string[]> {
    const { pods } = ListPodsResponse.decode(await this.#call('ListPods', Buffer.alloc(0)));
    return pods.map(readPod).map(({ name, phase, ready }) => `${name} ${phase} ${ready}`.trim());
  }

  async get(podUID: string): Promise<ReturnType<typeof readPod>> {
    const request = PodsDefinition.methods.getPod.requestType.encode({ podUID }).finish();
    return readPod(GetPodResponse.decode(await this.#call('GetPod', Buffer.from(request))).pod);
  }

  watch(): PodsWatch {
    const stream = this.#client.makeServerStreamRequest(
      '/v1alpha1.Pods/WatchPods',
      identity,
      identity,
      Buffer.alloc(0),
      new Metadata(),
    );
    const lines: string[] = [];
    stream.on('data', (bytes: Buffer) => void lines.push(eventLine(bytes)));
    const ended = new Promise<string>((resolve) => {
      stream.once('error', (err: ServiceError) => resolve(`${status[err.code]}: ${err.details}`));
      stream.once('end', () => setImmediate(() => resolve('OK')));
    });
    return {
      lines,
      ended,
      pause: () => void stream.pause(),
      resume: () => void stream.resume(),
      cancel: () => stream.cancel(),
    };
  }

  close(): void {
    this.#client.close();
  }

  /** Rejects with `NOT_FOUND: …` */
  #call(method: string, request: Buffer): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      const deadline = { deadline: Date.now() + 10_000 };
      const onEnd = (err: ServiceError | null, answer?: Buffer): void => {
        if (err === null) resolve(answer ?? Buffer.alloc(0));
        else reject(new Error(`${status[err.code]}: ${err.details}`));
      };
      this.#client.makeUnaryRequest(
        `/v1alpha1.Pods/${method}`,
        identity,
        identity,
        request,
        new Metadata(),
        deadline,
        onEnd,
      );
    });
  }
}

interface PodsWatch {
  /** The events so far. */
  readonly lines: readonly string[];
  /** `OK`, or the code and message of the failure. */
  readonly ended: Promise<string>;
  pause(): void;
  resume(): void;
  cancel(): void;
}
