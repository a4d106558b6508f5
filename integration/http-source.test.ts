// Static pods from a URL: they follow its responses, and stay over failed and invalid responses.
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import type { Pod } from '../src/api/k8s/types.ts';
import type { Kubelet } from './rig/kubelet.ts';
import { describeOnRig } from './rig/on-rig.ts';
import { type Rig, startRig } from './rig/rig.ts';
import { waitFor } from './rig/wait.ts';
import { manifest } from './support/manifest.ts';
import { containerIdOf, uidOf, untilNoPod, untilRunning } from './support/pod-state.ts';
import { untilNoTraces } from './support/pod-traces.ts';

interface Answer {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** Serves a configured response per path. */
class ManifestServer {
  readonly #server: Server = createServer((request, response) => {
    const path = request.url ?? '';
    this.#requests.push({ path, headers: request.headers });
    const { status = 200, headers = {}, body = '' } = this.#answers.get(path) ?? { status: 404 };
    response.writeHead(status, headers).end(body);
  });
  readonly #answers = new Map<string, Answer>();
  readonly #requests: { readonly path: string; readonly headers: IncomingHttpHeaders }[] = [];

  async start(): Promise<void> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
  }

  url(path: string): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}${path}`;
  }

  answer(path: string, answer: Answer | string): void {
    this.#answers.set(path, typeof answer === 'string' ? { body: answer } : answer);
  }

  requestsOf(path: string): readonly IncomingHttpHeaders[] {
    return this.#requests.filter((each) => each.path === path).map(({ headers }) => headers);
  }

  /** Waits until the kubelet has processed a response from now on: a second request follows the first one's processing. */
  async untilProcessed(path: string): Promise<void> {
    const before = this.requestsOf(path).length;
    await waitFor(() => this.requestsOf(path).length >= before + 2, `${path} to be requested twice`);
  }

  async stop(): Promise<void> {
    this.#server.close();
    this.#server.closeAllConnections();
    await once(this.#server, 'close');
  }
}

function podList(...items: readonly Pod[]): string {
  return JSON.stringify({ apiVersion: 'v1', kind: 'PodList', items });
}

describeOnRig('HTTP source', () => {
  let rig: Rig;
  let server: ManifestServer;
  let kubelet: Kubelet;
  let count = 0;

  beforeAll(async () => {
    rig = await startRig();
  });
  afterAll(() => rig.stop());
  beforeEach(async () => {
    count += 1;
    server = new ManifestServer();
    await server.start();
  });
  afterEach(async () => {
    if (kubelet.running) expect(await kubelet.stop()).toEqual({ code: 0, signal: null });
    await rig.removeAllPods();
    await server.stop();
  });

  const start = async (path: string, ...flags: readonly string[]): Promise<void> => {
    kubelet = await rig.kubelet({
      name: `k${count}`,
      nodeName: 'node',
      config: { httpCheckFrequency: '200ms' },
      flags: [`--manifest-url=${server.url(path)}`, ...flags],
    });
  };
  const names = async (): Promise<readonly string[]> =>
    (await kubelet.pods()).map(({ metadata }) => metadata?.name ?? '').toSorted();

  test('a pod from the URL runs beside those of the directory, and an update replaces only that pod', async () => {
    server.answer('/pod', JSON.stringify(manifest('web')));
    await start('/pod');
    kubelet.writeManifest('file', manifest('file'));
    const before = await untilRunning(kubelet, 'web');
    const beside = await untilRunning(kubelet, 'file');
    expect(before.metadata?.annotations?.['kubernetes.io/config.source']).toBe('http');
    expect(beside.metadata?.annotations?.['kubernetes.io/config.source']).toBe('file');
    server.answer('/pod', JSON.stringify(manifest('web', { metadata: { labels: { version: 'b' } } })));
    await untilNoTraces(rig, kubelet, before);
    const after = await untilRunning(kubelet, 'web');
    expect(after.metadata?.labels).toEqual({ version: 'b' });
    expect(uidOf(after)).not.toBe(uidOf(before));
    expect(containerIdOf(await untilRunning(kubelet, 'file'))).toBe(containerIdOf(beside));
  });

  test('pods follow the items of a PodList, and an empty list removes all of them', async () => {
    server.answer('/pods', podList(manifest('one'), manifest('two')));
    await start('/pods');
    const one = await untilRunning(kubelet, 'one');
    const two = await untilRunning(kubelet, 'two');
    server.answer('/pods', podList(manifest('two'), manifest('three')));
    const three = await untilRunning(kubelet, 'three');
    await untilNoTraces(rig, kubelet, one);
    expect(containerIdOf(await untilRunning(kubelet, 'two'))).toBe(containerIdOf(two));
    server.answer('/pods', podList());
    for (const name of ['two', 'three']) await untilNoPod(kubelet, name);
    for (const pod of [two, three]) await untilNoTraces(rig, kubelet, pod);
    expect(kubelet.log.matching(/^E/)).toEqual([]);
  });

  test('failed, malformed and empty responses leave the last valid pod unchanged', async () => {
    server.answer('/pod', JSON.stringify(manifest('kept')));
    await start('/pod');
    const id = containerIdOf(await untilRunning(kubelet, 'kept'));
    const answers: readonly (readonly [string, Answer, RegExp])[] = [
      ['an error with a valid body', { status: 500, body: podList() }, /status 500/],
      ['not there', { status: 404 }, /status 404/],
      ['garbage', { body: '<html>busy</html>' }, /not an object/],
      ['cut short', { body: JSON.stringify(manifest('kept')).slice(0, 40) }, /not valid JSON/],
      ['empty', { body: '' }, /the response is empty/],
      ['another kind', { body: '{"apiVersion":"v1","kind":"Status"}' }, /kind \\?"Status/],
      [
        'an invalid pod',
        { body: JSON.stringify(manifest('kept', { containers: [] })) },
        /default\/kept is invalid/,
      ],
    ];
    for (const [name, answer, words] of answers) {
      const from = kubelet.log.end;
      server.answer('/pod', answer);
      await server.untilProcessed('/pod');
      expect(await kubelet.log.waitForLine(words, { from }), name).toContain('Failed to read pods from URL');
      expect(await names(), name).toEqual(['kept-node']);
      expect(containerIdOf(await untilRunning(kubelet, 'kept')), name).toBe(id);
    }
    const from = kubelet.log.end;
    server.answer('/pod', JSON.stringify(manifest('kept')));
    await kubelet.log.waitForLine(/Resumed reading pods from URL/, { from });
    expect(containerIdOf(await untilRunning(kubelet, 'kept'))).toBe(id);
    server.answer('/pod', podList());
    await untilNoPod(kubelet, 'kept');
  });

  test('sends configured headers, and follows a redirect', async () => {
    server.answer('/moved', { status: 302, headers: { location: '/pod' } });
    server.answer('/pod', JSON.stringify(manifest('web')));
    await start(
      '/moved',
      '--manifest-url-header=X-One:first,X-Two:second',
      '--manifest-url-header=X-One:again',
    );
    await untilRunning(kubelet, 'web');
    for (const path of ['/moved', '/pod'])
      expect(server.requestsOf(path)[0], path).toMatchObject({ 'x-one': 'first, again', 'x-two': 'second' });
  });

  test('pods of an unreachable server start when it is reachable', async () => {
    server.answer('/pod', { status: 503 });
    await start('/pod');
    await server.untilProcessed('/pod');
    expect(await names()).toEqual([]);
    server.answer('/pod', JSON.stringify(manifest('late')));
    const before = await untilRunning(kubelet, 'late');
    // A kubelet that starts while the server fails must not treat that as an empty list.
    expect(await kubelet.stop()).toEqual({ code: 0, signal: null });
    server.answer('/pod', { status: 503 });
    await kubelet.start();
    await server.untilProcessed('/pod');
    const { containers } = await rig.cri.listContainers({ filter: { id: containerIdOf(before) } });
    expect(containers.map(({ state }) => state)).toEqual([1]);
    server.answer('/pod', JSON.stringify(manifest('late')));
    expect(containerIdOf(await untilRunning(kubelet, 'late'))).toBe(containerIdOf(before));
  });
});
