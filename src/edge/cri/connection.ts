// One connection to a runtime's socket, made when first needed and made again for as long as it is not closed.
// Upstream: the dialling half of staging/src/k8s.io/cri-client.
// Invariants: while the runtime is away calls fail at once; the first call after it came back goes through, whatever
// the back-off of the background attempts; `changed` announces a loss and a comeback once each.
import { Client, type ClientOptions, connectivityState, credentials } from '@grpc/grpc-js';
import { Channel } from '../../base/channel.ts';

/** Requests and answers of up to 16 MiB, the limit that upstream and containerd have. */
const maxMessageBytes = 16 * 1024 * 1024;

/** Lists of a full node are longer than HTTP/2's initial window of 64 KiB; without this each waits for a round trip. */
const windowBytes = 1024 * 1024;

const channelOptions: ClientOptions = {
  'grpc.default_authority': 'localhost',
  'grpc.max_receive_message_length': maxMessageBytes,
  'grpc.max_send_message_length': maxMessageBytes,
  'grpc.initial_reconnect_backoff_ms': 100,
  'grpc.max_reconnect_backoff_ms': 3000,
  'grpc.client_idle_timeout_ms': 2 ** 31 - 1,
  'grpc-node.flow_control_window': windowBytes,
  // Nobody else may share or keep the connection, else closing and replacing it would mean nothing.
  'grpc.use_local_subchannel_pool': 1,
  'grpc.service_config_disable_resolution': 1,
  // Whoever calls decides on another try; kept for one that never comes, every message would be held twice.
  'grpc.enable_retries': 0,
  'grpc.enable_http_proxy': 0,
  'grpc.enable_channelz': 0,
};

export class CriConnection {
  /** Says whether there is a connection, whenever that changes. The first success counts as a change. */
  readonly changed = new Channel<boolean>();
  readonly path: string;
  #client: Client | undefined;
  #connected = false;
  #closed = false;

  constructor(path: string) {
    this.path = path;
  }

  get connected(): boolean {
    return this.#connected;
  }

  get closed(): boolean {
    return this.#closed;
  }

  /** The client to make the next call with. */
  client(): Client {
    if (this.#client !== undefined) {
      const state = this.#client.getChannel().getConnectivityState(false);
      if (state !== connectivityState.TRANSIENT_FAILURE) return this.#client;
      // In this state gRPC answers by itself until its back-off ends, even when the runtime is there again. A connect
      // to a unix socket fails or succeeds at once, so a new attempt costs next to nothing.
      this.#drop();
    }
    const client = new Client(`unix:${this.path}`, credentials.createInsecure(), channelOptions);
    this.#client = client;
    this.#watch(client);
    return client;
  }

  close(): void {
    this.#closed = true;
    this.#connected = false;
    this.#drop();
  }

  #drop(): void {
    const client = this.#client;
    // Forgotten first: closing tells the watcher, which is to see that this client no longer counts.
    this.#client = undefined;
    client?.close();
  }

  #watch(client: Client): void {
    const channel = client.getChannel();
    const step = (): void => {
      if (this.#client !== client) return;
      const state = channel.getConnectivityState(false);
      channel.watchConnectivityState(state, Number.POSITIVE_INFINITY, step);
      // A lost connection leaves the channel idle. It is made again without a call, so that a comeback is noticed.
      if (state === connectivityState.IDLE && this.#connected) channel.getConnectivityState(true);
      this.#note(state === connectivityState.READY);
    };
    step();
  }

  #note(connected: boolean): void {
    if (this.#connected === connected) return;
    this.#connected = connected;
    this.changed.push(connected);
  }
}
