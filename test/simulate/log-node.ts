// A node with one pod whose container log is a file in a temporary directory, and the handler of `kubectl logs`, for
// tests and benchmarks of reading logs. Everything but the pod is real.
import { mkdirSync } from 'node:fs';
import { appendFile, rename } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { ContainerStatus, Pod, PodStatus } from '../../src/api/k8s/types.ts';
import type { ObservedContainer, ObservedPod } from '../../src/api/pod/observed.ts';
import { asContainerId, asPodUid, type PodUid } from '../../src/api/pod/pod-ref.ts';
import { Channel } from '../../src/base/channel.ts';
import { type Clock, realClock } from '../../src/base/clock.ts';
import { silentLogger } from '../../src/base/log/log.ts';
import { type LogEdges, logEdges } from '../../src/edge/logs/log-edges.ts';
import type { HttpResponse, RouteHandler } from '../../src/server/http-message.ts';
import { logHandlers } from '../../src/server/logs/log-handlers.ts';
import { aContainer, anObservedContainer, anObservedPod, aPod } from '../builders/builders.ts';

const uid = asPodUid('u1');
const containerID = 'containerd://c1';

export class LogNode {
  readonly path: string;
  /** The container's status, as the API shows it. */
  status: Partial<ContainerStatus> = { state: { running: {} }, containerID };
  state: ObservedContainer['state'] = 'running';
  readonly #changed = new Channel<PodUid>();
  readonly #handle: RouteHandler;
  readonly #pod: Pod = aPod({ name: 'web', containers: [aContainer({ name: 'c' })] });

  constructor(
    root: string,
    over: { readonly splitStreams?: boolean; readonly clock?: Clock; readonly edges?: LogEdges } = {},
  ) {
    this.path = join(root, 'pods', 'default_web_u1', 'c', '0.log');
    mkdirSync(dirname(this.path), { recursive: true });
    this.#handle = logHandlers({
      desired: { all: () => [{ uid, pod: this.#pod }] },
      statuses: { get: () => this.#status() },
      observed: { get: () => this.#observed(), changed: this.#changed },
      splitStreams: over.splitStreams ?? false,
      host: over.edges ?? logEdges(),
      clock: over.clock ?? realClock,
      log: silentLogger,
    }).containerLogs;
  }

  #status(): PodStatus {
    const status = { name: 'c', image: 'i', imageID: '', ready: true, restartCount: 0, ...this.status };
    return { containerStatuses: [status] };
  }

  #observed(): ObservedPod {
    const containers = [
      anObservedContainer({ id: asContainerId('c1'), name: 'c', state: this.state, logPath: this.path }),
    ];
    return anObservedPod({ uid, containers });
  }

  async request(query: string, signal: AbortSignal, path = 'default/web/c'): Promise<HttpResponse> {
    const [podNamespace = '', podID = '', containerName = ''] = path.split('/');
    const answer = await this.#handle({
      method: 'GET',
      path: `/containerLogs/${path}`,
      query: new URLSearchParams(query),
      headers: {},
      signal,
      upgrade: false,
      certificate: undefined,
      readBody: async () => new Uint8Array(),
      params: { podNamespace, podID, containerName },
    });
    if (!('body' in answer)) throw new Error('the handler returned no response');
    return answer;
  }

  /** Ends the container, and lets the kubelet observe it. */
  end(): void {
    this.state = 'exited';
    this.#changed.push(uid);
  }

  async write(...texts: readonly string[]): Promise<void> {
    await appendFile(this.path, texts.map((text) => logLine(text)).join(''));
  }

  /** Rotates like the kubelet: the runtime creates the new file later, when its log is reopened. */
  async rotate(suffix: string): Promise<string> {
    const rotated = `${this.path}.${suffix}`;
    await rename(this.path, rotated);
    return rotated;
  }
}

export function logLine(text: string, time = '2024-01-01T00:00:01.5Z', tag = 'F'): string {
  return `${time} stdout ${tag} ${text}\n`;
}

/** The whole body of a response as text. */
export async function bodyText({ body }: HttpResponse): Promise<string> {
  if (typeof body === 'string') return body;
  if (body instanceof Uint8Array) return Buffer.from(body).toString();
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

/** Reads a response as it arrives. */
export class LogReader {
  text = '';
  readonly ended: Promise<void>;
  #onText: () => void = () => undefined;

  constructor({ body }: HttpResponse) {
    if (typeof body === 'string' || body instanceof Uint8Array) throw new Error(`not a stream: ${body}`);
    this.ended = this.#read(body);
  }

  async #read(body: AsyncIterable<Uint8Array>): Promise<void> {
    for await (const chunk of body) {
      this.text += Buffer.from(chunk).toString();
      this.#onText();
    }
  }

  /** Waits until the text is this. */
  async until(text: string): Promise<void> {
    while (this.text !== text) {
      if (this.text.length > text.length) throw new Error(`more than expected: ${this.text}`);
      await new Promise<void>((resolve) => {
        this.#onText = resolve;
      });
    }
  }
}
