// Targets, calls to the runtime, and responses.
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { aContainer, aPod } from '../../../test/builders/builders.ts';
import { FakeCri, fakeBusybox } from '../../../test/fake-cri/fake-cri.ts';
import { FakeClock } from '../../../test/fakes/fake-clock.ts';
import { NamespaceMode } from '../../api/cri/generated/runtime/v1/api.ts';
import { criLabels } from '../../api/cri/labels.ts';
import type { Pod } from '../../api/k8s/types.ts';
import { podUid } from '../../api/pod/pod-ref.ts';
import { Aborted, KubeletError } from '../../base/errors.ts';
import { Metrics } from '../../base/metrics.ts';
import { bodyText, httpRequest } from '../fixtures/requests.ts';
import type { HttpAnswer, HttpRequest } from '../http-message.ts';
import { type StreamHandlers, streamHandlers } from './stream-handlers.ts';
import { StreamMetrics } from './stream-metrics.ts';

describe('stream handlers', () => {
  let clock: FakeClock;
  let cri: FakeCri;
  let desired: { uid: ReturnType<typeof podUid>; pod: Pod; source: string }[];
  let handlers: StreamHandlers;
  let registry: Metrics;

  beforeEach(() => {
    clock = new FakeClock();
    cri = new FakeCri({ clock });
    desired = [];
    registry = new Metrics();
    handlers = handlersWith(true);
  });

  function handlersWith(webSockets: boolean): StreamHandlers {
    return streamHandlers({
      desired: { all: () => desired },
      cri,
      webSockets,
      metrics: new StreamMetrics(registry),
    });
  }

  afterEach(() => cri.close());

  /** Desired and running. */
  async function given(pod: Pod, source = 'api', running: readonly string[] = ['c']): Promise<string> {
    desired.push({ uid: podUid(pod), pod, source });
    const { name = '', namespace = '', uid = '' } = pod.metadata ?? {};
    const labels = { [criLabels.podUid]: uid };
    const metadata = { name, namespace, uid };
    const { podSandboxId } = await cri.runPodSandbox({ config: { metadata, labels } });
    for (const container of running) await startContainer(podSandboxId, container, labels);
    return podSandboxId;
  }

  async function startContainer(
    podSandboxId: string,
    name: string,
    labels: Record<string, string>,
  ): Promise<string> {
    const linux = { securityContext: { namespaceOptions: { pid: NamespaceMode.CONTAINER } } };
    const command = ['sleep', '100000'];
    const image = { image: fakeBusybox.name };
    const config = { metadata: { name }, image, command, linux, labels };
    const { containerId } = await cri.createContainer({ podSandboxId, config, sandboxConfig: {} });
    await cri.startContainer({ containerId });
    return containerId;
  }

  const spdy = { upgrade: true, headers: { connection: 'Upgrade', upgrade: 'SPDY/3.1' } };

  /** `exec /default/p/c?output=1`, as the router passes it. */
  function ask(line: string, more: Partial<HttpRequest> = spdy): Promise<HttpAnswer> {
    const [what = '', target = ''] = line.split(' ');
    const request = httpRequest(`POST ${target}`, more);
    const [podNamespace = '', podID = '', third = '', fourth] = request.path.slice(1).split('/');
    const below: Record<string, string> =
      what === 'portForward'
        ? third === ''
          ? {}
          : { uid: third }
        : fourth === undefined
          ? { containerName: third }
          : { uid: third, containerName: fourth };
    const handle = handlers[what as keyof StreamHandlers];
    return Promise.resolve(handle({ ...request, params: { podNamespace, podID, ...below } }));
  }

  async function summarize(answer: Promise<HttpAnswer>): Promise<string> {
    const got = await answer;
    return 'proxyTo' in got ? `→ ${got.proxyTo}` : `${got.status} ${await bodyText(got)}`;
  }

  const lastCall = (method: string): unknown => cri.calls.findLast((call) => call.method === method)?.request;

  describe('exec', () => {
    test('calls the runtime for the running container and proxies the client', async () => {
      await given(aPod());
      expect(
        await summarize(ask('exec /default/p/c?output=1&input=1&command=sh&command=-c&command=a+b')),
      ).toBe('→ http://127.0.0.1:1/exec/fake0');
      expect(lastCall('Exec')).toMatchObject({
        cmd: ['sh', '-c', 'a b'],
        stdin: true,
        stdout: true,
        stderr: false,
        tty: false,
      });
    });

    test.each([
      ['/default/p/c', '400 you must specify at least 1 of stdin, stdout, stderr'],
      ['/default/q/c?output=1', '404 pod does not exist'],
      ['/other/p/c?output=1', '404 pod does not exist'],
      ['/default/p/x?output=1', '500 container not found ("x")'],
      ['/default/p/dead?output=1', '500 container not found ("dead")'],
      ['/default/p/another-uid/c?output=1', '500 container not found ("c")'],
      ['/default/p/uid-p/c?output=1', '→ http://127.0.0.1:1/exec/fake0'],
    ])('%s: %s', async (target, want) => {
      const sandbox = await given(aPod());
      const labels = { [criLabels.podUid]: 'uid-p' };
      const containerId = await startContainer(sandbox, 'dead', labels);
      await clock.until(cri.stopContainer({ containerId, timeout: 0n }), 60_000);
      expect(await summarize(ask(`exec ${target}`))).toBe(want);
    });

    test('finds init, sidecar and ephemeral containers', async () => {
      const pod = aPod({
        initContainers: [aContainer({ name: 'side', restartPolicy: 'Always' })],
        ephemeralContainers: [{ ...aContainer({ name: 'debug' }) }],
      });
      await given(pod, 'api', ['side', 'c', 'debug']);
      for (const name of ['side', 'debug']) {
        expect(await summarize(ask(`exec /default/p/${name}?output=1`))).toMatch(/^→/);
        expect(await summarize(ask(`attach /default/p/${name}?output=1`))).toMatch(/^→/);
      }
    });

    test('uses the newer of two pods with the same name', async () => {
      await given(aPod({ uid: 'old' }));
      await given(aPod({ uid: 'new' }));
      await ask('exec /default/p/c?output=1');
      const { containers } = await cri.listContainers({
        filter: { labelSelector: { [criLabels.podUid]: 'new' } },
      });
      expect(lastCall('Exec')).toMatchObject({ containerId: containers[0]?.id });
    });

    test('accepts the UID of the mirror pod for a static pod', async () => {
      await given(aPod({ name: 'web-node1' }), 'file');
      expect(await summarize(ask('exec /default/web-node1/mirror-uid/c?output=1'))).toMatch(/^→/);
      expect(await summarize(ask('portForward /default/web-node1/mirror-uid'))).toMatch(/^→/);
    });

    test('does not call the runtime without an upgrade', async () => {
      await given(aPod());
      expect(await summarize(ask('exec /default/p/c?output=1', {}))).toBe('500 Upgrade request required\n');
      expect(await summarize(ask('attach /default/p/c?output=1', {}))).toBe('500 Upgrade request required\n');
      expect(await summarize(ask('portForward /default/p', {}))).toBe('500 Upgrade request required\n');
      expect(cri.calls.map(({ method }) => method)).not.toContain('Exec');
    });

    test.each([
      ['NOT_FOUND', 404, 'rpc error: code = NotFound desc = no'],
      ['RESOURCE_EXHAUSTED', 429, 'rpc error: code = ResourceExhausted desc = no'],
      ['UNKNOWN', 500, 'rpc error: code = Unknown desc = no'],
      ['UNAVAILABLE', 500, 'rpc error: code = Unavailable desc = no'],
    ])('maps the runtime error %s to %i', async (reason, status, body) => {
      await given(aPod());
      cri.faults.fail('exec', new KubeletError('internal', reason, 'no'));
      const answer = await ask('exec /default/p/c?output=1');
      expect([(answer as { status: number }).status, await bodyText(answer)]).toEqual([status, body]);
      if (status === 429) expect(answer).toMatchObject({ headers: { 'retry-after': '60' } });
    });

    test('aborts the call to the runtime when the client disconnects', async () => {
      await given(aPod());
      cri.faults.stall('exec');
      const abort = new AbortController();
      const asked = ask('exec /default/p/c?output=1', { ...spdy, signal: abort.signal });
      await clock.settle();
      abort.abort(new Aborted('the client disconnected'));
      await expect(asked).rejects.toThrow('the client disconnected');
    });
  });

  describe('attach', () => {
    test("uses the container's terminal setting, whatever the client requests", async () => {
      await given(aPod({ containers: [aContainer({ tty: true, stdin: true })] }));
      await ask('attach /default/p/c?output=1&error=1&input=1');
      expect(lastCall('Attach')).toMatchObject({ tty: true, stdin: true, stdout: true, stderr: false });
      await given(aPod({ name: 'q' }));
      await ask('attach /default/q/c?output=1&tty=1');
      expect(lastCall('Attach')).toMatchObject({ tty: false, stdout: true, stderr: false });
    });

    test.each([
      ['/default/p/c', '400 you must specify at least 1 of stdin, stdout, stderr'],
      ['/default/q/c?output=1', '404 pod does not exist'],
      ['/default/p/x?output=1', '500 container x not found in pod p_default'],
      ['/default/p/another-uid/c?output=1', '500 pod p_default not found'],
      ['/default/p/unlisted?output=1', '500 container unlisted not found in pod p_default'],
    ])('%s: %s', async (target, want) => {
      await given(aPod(), 'api', ['c', 'unlisted']);
      expect(await summarize(ask(`attach ${target}`))).toBe(want);
    });
  });

  describe('portForward', () => {
    test('forwards to the ready sandbox, with the ports of a WebSocket', async () => {
      const podSandboxId = await given(aPod({ hostNetwork: true }));
      expect(await summarize(ask('portForward /default/p'))).toBe('→ http://127.0.0.1:1/portforward/fake0');
      expect(lastCall('PortForward')).toMatchObject({ podSandboxId, port: [] });
      await ask('portForward /default/p?port=80,81', { upgrade: true, headers: { upgrade: 'websocket' } });
      expect(lastCall('PortForward')).toMatchObject({ podSandboxId, port: [80, 81] });
    });

    test('rejects invalid requests', async () => {
      const webSocket = { upgrade: true, headers: { upgrade: 'websocket' } };
      const podSandboxId = await given(aPod());
      expect(await summarize(ask('portForward /default/p', webSocket))).toBe(
        '400 query parameter "port" is required',
      );
      expect(await summarize(ask('portForward /default/q'))).toBe('404 pod does not exist');
      expect(await summarize(ask('portForward /default/p/another-uid'))).toBe('404 pod not found');
      await clock.until(cri.stopPodSandbox({ podSandboxId }), 60_000);
      expect(await summarize(ask('portForward /default/p'))).toBe('500 pod not found ("p_default")');
    });
  });

  describe('WebSockets of the newest protocols', () => {
    const webSocket = (protocol: string): Partial<HttpRequest> => ({
      upgrade: true,
      headers: { upgrade: 'websocket', 'sec-websocket-protocol': protocol },
    });
    const channels = webSocket('v5.channel.k8s.io');
    const tunnel = webSocket('SPDY/3.1+portforward.k8s.io');

    test('end at the kubelet and are counted', async () => {
      await given(aPod({ containers: [aContainer({ tty: true })] }));
      expect(await ask('exec /default/p/c?output=1&error=1&input=1', channels)).toMatchObject({
        proxyTo: 'http://127.0.0.1:1/exec/fake0',
        webSocket: { stdin: true, stdout: true, stderr: true, tty: false },
      });
      // The terminal of the container decides, since the runtime expects its streams.
      expect(await ask('attach /default/p/c?output=1&error=1', channels)).toMatchObject({
        webSocket: { stdin: false, stdout: true, stderr: false, tty: true },
      });
      expect(await ask('portForward /default/p', tunnel)).toMatchObject({ webSocket: 'tunnel' });
      expect(lastCall('PortForward')).toMatchObject({ port: [] });
      expect(registry.render().match(/^kubelet_websocket.*$/gm)).toEqual([
        'kubelet_websocket_streaming_requests_total{subresource="exec"} 1',
        'kubelet_websocket_streaming_requests_total{subresource="attach"} 1',
        'kubelet_websocket_streaming_requests_total{subresource="portforward"} 1',
      ]);
    });

    test('are proxied as they are if the gate is off, and older protocols always', async () => {
      await given(aPod());
      expect(await ask('exec /default/p/c?output=1', webSocket('v4.channel.k8s.io'))).toEqual({
        proxyTo: 'http://127.0.0.1:1/exec/fake0',
      });
      expect(await summarize(ask('portForward /default/p', channels))).toBe(
        '400 query parameter "port" is required',
      );
      registry = new Metrics();
      handlers = handlersWith(false);
      expect(await ask('exec /default/p/c?output=1', channels)).toEqual({
        proxyTo: 'http://127.0.0.1:1/exec/fake1',
      });
      expect(await summarize(ask('portForward /default/p', tunnel))).toBe(
        '400 query parameter "port" is required',
      );
    });
  });

  describe('run', () => {
    const run = async (query: string): Promise<string> =>
      summarize(clock.until(ask(`run /default/p/c?${query}`, {}), 60_000));

    test('responds with stdout followed by stderr', async () => {
      await given(aPod());
      const answer = await clock.until(ask('run /default/p/c?cmd=echo+a++b', {}), 60_000);
      expect(answer).toMatchObject({ status: 200, headers: { 'content-type': 'application/json' } });
      expect(await bodyText(answer)).toBe('a  b\n');
      expect(lastCall('ExecSync')).toMatchObject({ cmd: ['echo', 'a', '', 'b'], timeout: 0n });
      expect(await clock.until(ask('run /default/p/c?cmd=true', {}), 60_000)).toMatchObject({
        status: 200,
        headers: {},
      });
    });

    test('reports failures', async () => {
      await given(aPod());
      expect(await run('cmd=cat+/none')).toBe(
        "500 command 'cat /none' exited with 1: cat: can't open '/none': No such file or directory\n",
      );
      expect(await run('cmd=/no/such')).toMatch(/^500 rpc error: code = Unknown desc = failed to exec/);
      expect(await summarize(ask('run /default/p/x?cmd=true', {}))).toBe('500 container not found ("x")');
      expect(await summarize(ask('run /default/q/c?cmd=true', {}))).toBe('404 pod does not exist');
    });
  });
});
