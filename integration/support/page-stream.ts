// Clients of the stream of the node's page without a browser, and a stream of many synthetic pods.
import { once } from 'node:events';
import { get, type IncomingMessage, type ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import type {
  Hello,
  NodeView,
  PodRow,
  PodsChange,
  StreamEvents,
  UsageSample,
} from '../../src/api/ports/node-page.ts';

/** Reads server-sent events until it is closed. */
export class StreamClient {
  readonly status: number;
  readonly events: { readonly name: string; readonly data: string }[] = [];
  readonly #response: IncomingMessage;
  #text = '';

  private constructor(response: IncomingMessage) {
    this.#response = response;
    this.status = response.statusCode ?? 0;
    response.setEncoding('utf8');
    response.on('data', (chunk: string) => this.#read(chunk));
    response.on('error', () => undefined);
  }

  static async open(port: number, path = '/ui/api/stream'): Promise<StreamClient> {
    const request = get({ host: '127.0.0.1', port, path, agent: false });
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    request.on('error', () => undefined);
    return new StreamClient(response);
  }

  /** The body of an answer that is no stream. */
  get text(): string {
    return this.#text;
  }

  samples(): readonly UsageSample[] {
    return this.events
      .filter(({ name }) => name === 'usage')
      .map(({ data }) => JSON.parse(data) as UsageSample);
  }

  close(): void {
    this.#response.destroy();
  }

  #read(chunk: string): void {
    const parts = `${this.#text}${chunk}`.split('\n\n');
    this.#text = parts.pop() ?? '';
    for (const part of parts) {
      const lines = part.split('\n');
      const valueOf = (field: string): string =>
        lines
          .filter((line) => line.startsWith(`${field}:`))
          .map((line) => line.slice(field.length + 1).trimStart())
          .join('\n');
      this.events.push({ name: valueOf('event'), data: valueOf('data') });
    }
  }
}

/** A client that sends a request and never reads the answer. */
export async function silentClient(port: number, path: string): Promise<Socket> {
  const socket = connect({ host: '127.0.0.1', port });
  socket.pause();
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  socket.write(`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n\r\n`);
  return socket;
}

function writeEvent<K extends keyof StreamEvents>(
  response: ServerResponse,
  name: K,
  data: StreamEvents[K],
): void {
  response.write(`event: ${name}\ndata: ${JSON.stringify(data)}\n\n`);
}

const statuses = [
  ['Running', 'good'],
  ['CrashLoopBackOff', 'bad'],
  ['ContainerCreating', 'busy'],
  ['Completed', 'done'],
] as const;

/** All different below 500. */
export const restartsOf = (index: number): number => (index * 37) % 500;

function syntheticRow(index: number): PodRow {
  const [status, tone] = statuses[index % 4] ?? statuses[0];
  return {
    uid: `uid-${index}` as PodRow['uid'],
    namespace: `team-${index % 7}`,
    name: `pod-${String(index).padStart(3, '0')}`,
    status,
    tone,
    sentence: `This is pod ${index}.`,
    sinceMs: Date.now() - index * 1000,
    ready: 1,
    containers: 1,
    restarts: restartsOf(index),
    lastRestartMs: undefined,
    createdMs: Date.now() - index * 60_000,
    ip: `10.0.${index >> 8}.${index & 255}`,
    source: 'api',
  };
}

const syntheticNode: NodeView = {
  ready: { ok: true, why: '' },
  cpu: { capacityMillis: 8000, allocatableMillis: 8000 },
  memory: { capacityBytes: 2 ** 34, availableBytes: 2 ** 33, thresholds: [] },
  disks: [],
  pressure: [],
  processes: { current: 1000, max: 4_000_000 },
  pods: { running: 500, total: 500, max: 500 },
  runtime: { name: 'containerd', version: '2.0', ok: true },
  certificates: [],
  configuration: { state: 'default', pending: [] },
};

/** What a kubelet with so many pods sends: everything once, then a sample and some changed rows per second. */
export function streamManyPods(count: number): (response: ServerResponse) => void {
  const rows = Array.from({ length: count }, (_, index) => syntheticRow(index));
  const sample = (): UsageSample => ({
    atMs: Date.now(),
    node: [4000, 2 ** 33],
    pods: Object.fromEntries(
      rows.map(({ uid }, index) => [uid, [index + Math.random() * 10, index * 2 ** 20]] as const),
    ),
  });
  const hello: Hello = {
    instance: 'synthetic',
    nodeName: 'big-node',
    version: 'v0',
    startedAtMs: Date.now(),
    nowMs: Date.now(),
    samplePeriodMs: 1000,
    may: { logs: true, exec: false },
  };
  return (response) => {
    const all: PodsChange = { all: true, rows, gone: [] };
    writeEvent(response, 'hello', hello);
    writeEvent(response, 'node', syntheticNode);
    writeEvent(response, 'pods', all);
    writeEvent(response, 'samples', []);
    const timer = setInterval(() => {
      writeEvent(response, 'usage', sample());
      writeEvent(response, 'pods', { all: false, rows: rows.slice(0, 50), gone: [] });
    }, 1000);
    response.on('close', () => clearInterval(timer));
  };
}
