// Unauthenticated clients flood the kubelet's secure and read-only ports in many ways. Meanwhile the kubelet responds
// to every request of the API server, does not block its event loop, keeps its memory bounded, keeps a probed pod ready
// and renews its lease. Without the limits of src/edge/http/http-limits.ts one of these floods blocks the event loop
// for 29 s and takes 1.4 GiB.
import { afterAll, beforeAll, expect, onTestFailed, test } from 'vitest';
import { describeOnRig } from './rig/on-rig.ts';
import { slowness } from './rig/wait.ts';
import { computeViolations, neighbourName, rssLimitMib } from './support/hostile/node-watch.ts';
import { Target } from './support/hostile/target.ts';
import { buildFlooder, flood } from './support/start-flood.ts';
import { webSocketExec } from './support/streams.ts';

interface Flood {
  readonly shape: string;
  readonly port: 'securePort' | 'readOnlyPort';
  /** The API server's address, or one address per connection; by default one address for the flood. */
  readonly from?: 'API server' | 'many';
}

const floods: readonly Flood[] = [
  { shape: 'idle-tcp', port: 'securePort' },
  { shape: 'half-open-tls', port: 'securePort' },
  { shape: 'tls-handshakes', port: 'securePort', from: 'API server' },
  { shape: 'idle-h2', port: 'securePort' },
  { shape: 'h2-requests', port: 'securePort' },
  { shape: 'h2-requests', port: 'securePort', from: 'many' },
  { shape: 'h2-rapid-reset', port: 'securePort' },
  { shape: 'h1-pipelined', port: 'securePort' },
  { shape: 'random-tokens', port: 'securePort' },
  { shape: 'slow-headers', port: 'securePort' },
  { shape: 'huge-headers', port: 'securePort' },
  { shape: 'plain-idle', port: 'readOnlyPort' },
  { shape: 'plain-requests', port: 'readOnlyPort' },
  { shape: 'plain-metrics', port: 'readOnlyPort' },
];

const fromNames = { 'API server': ", from the API server's address", many: ', from many addresses' } as const;
const floodSeconds = 2;
/** Generous, since the flood, the kubelet, the API server and this test share two CPUs. */
const answerMs = 10_000;
const container = `${neighbourName}/main`;

/** Sends the API server's requests, each on a new connection. */
class ApiServerClient {
  readonly #target: Target;
  /** Whether every second request comes from a new address. */
  readonly #newAddresses: boolean;
  readonly #failures: string[] = [];
  #requests = 0;
  #longestMs = 0;

  constructor(target: Target, newAddresses: boolean) {
    this.#target = target;
    this.#newAddresses = newAddresses;
  }

  get figures(): { readonly requests: number; readonly longestMs: number } {
    return { requests: this.#requests, longestMs: Math.round(this.#longestMs) };
  }

  get failures(): readonly string[] {
    return this.#failures;
  }

  async round(): Promise<void> {
    await this.#check('/pods', /^200 .*"PodList"/, () => this.#ask('GET', '/pods'));
    await this.#check('logs', /^200 fine\n$/, () => this.#ask('GET', `/containerLogs/default/${container}`));
    await this.#check('run', /^200 ran\n$/, () =>
      this.#ask('POST', `/run/default/${container}?cmd=echo+ran`),
    );
    await this.#check('exec', /^done\n$/, () => this.#exec());
    await this.#check('stats', /^200 .*"nodeName"/s, () => this.#ask('GET', '/stats/summary'));
  }

  async #check(what: string, pattern: RegExp, call: () => Promise<string>): Promise<void> {
    this.#requests++;
    const beganMs = performance.now();
    const answer = await call().catch((err: unknown) => `failed: ${String(err)}`);
    this.#longestMs = Math.max(this.#longestMs, performance.now() - beganMs);
    if (!pattern.test(answer)) this.#failures.push(`${what}: ${answer.slice(0, 300)}`);
  }

  async #ask(method: string, path: string): Promise<string> {
    const isNew = this.#newAddresses && this.#requests % 2 === 0;
    const from = isNew ? nextAddress() : '127.0.0.1';
    const { complete, status, text } = await this.#target.request(path, { method, from, forMs: answerMs });
    return complete ? `${status} ${text}` : 'the response was cut off';
  }

  async #exec(): Promise<string> {
    const { cluster, kubelet } = this.#target;
    const output = async (): Promise<string> => {
      const exec = await webSocketExec(cluster, kubelet, container, ['echo', 'done']);
      return (await exec.ended).output[1] ?? 'no output';
    };
    let timer: NodeJS.Timeout | undefined;
    const timedOut = new Promise<string>((resolve) => {
      timer = setTimeout(resolve, answerMs * slowness, 'timed out');
    });
    return Promise.race([output(), timedOut]).finally(() => clearTimeout(timer));
  }
}

let addresses = 0;
function nextAddress(): string {
  addresses++;
  return `127.1.${addresses >> 8}.${addresses & 255}`;
}

describeOnRig('unauthenticated clients do not affect the node', () => {
  let target: Target;
  let program: string;

  beforeAll(async () => {
    program = buildFlooder();
    target = await Target.start({ hasNodeImage: false });
    const client = new ApiServerClient(target, true);
    await client.round();
    expect(client.failures).toEqual([]);
  });
  afterAll(() => target.stop());

  for (const { from, port, shape } of floods) {
    const portName = port === 'securePort' ? 'secure' : 'read-only';
    const name = `${shape} at the ${portName} port${from === undefined ? '' : fromNames[from]}`;
    test(name, async () => {
      onTestFailed(() => console.error(target.cluster.describeState(target.kubelet)));
      // A flood from many addresses can crowd out new addresses, but not those that the kubelet knows.
      const client = new ApiServerClient(target, from !== 'many');
      const address = from === 'API server' ? '127.0.0.1' : (from ?? '127.0.0.2');
      const options = { program, shape, port: target.kubelet[port], seconds: floodSeconds, from: address };
      target.watch.begin();
      const over = new AbortController();
      const flooded = flood(options).finally(() => {
        over.abort();
      });
      while (!over.signal.aborted) await client.round();
      const { opened } = await flooded;
      const findings = await target.watch.findings();
      console.info(name, JSON.stringify({ opened, ...client.figures, ...findings }));
      expect(opened).toBeGreaterThan(0);
      expect(client.failures).toEqual([]);
      expect(computeViolations(findings)).toEqual([]);
      expect(findings.peakGrowthMib).toBeLessThanOrEqual(rssLimitMib);
    });
  }
});
