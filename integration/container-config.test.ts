// Containers in a real containerd: environment, hosts file, hostname, user, hooks, termination messages, log links.

import { existsSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { Container, Pod } from '../src/api/k8s/types.ts';
import type { Kubelet } from './rig/kubelet.ts';
import { describeOnRig } from './rig/on-rig.ts';
import { waitFor } from './rig/wait.ts';
import { logPath, untilLogged } from './support/container-log.ts';
import { container, exitsOnTerm, manifest } from './support/manifest.ts';
import {
  containerIdOf,
  containerStatus,
  untilContainer,
  untilNoPod,
  untilPod,
  untilRunning,
} from './support/pod-state.ts';
import { useNode } from './support/suite-node.ts';

const forever = 'exec sleep 2147483647';

describeOnRig('container configuration', () => {
  let kubelet: Kubelet;
  const own = useNode((node) => ({ kubelet } = node));

  const withMain = (name: string, script: string, over: Partial<Container> = {}): Pod =>
    manifest(name, { containers: [container('main', script, over)] });

  test('a container gets environment variables from fields and resources', async () => {
    const env = [
      { name: 'NAME', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
      { name: 'NODE', valueFrom: { fieldRef: { fieldPath: 'spec.nodeName' } } },
      { name: 'IP', valueFrom: { fieldRef: { fieldPath: 'status.podIP' } } },
      { name: 'LABEL', valueFrom: { fieldRef: { fieldPath: "metadata.labels['app']" } } },
      { name: 'CPU', valueFrom: { resourceFieldRef: { resource: 'requests.cpu', divisor: '1m' } } },
      { name: 'ALL', value: '$(NAME) on $(NODE)' },
    ];
    const script = `echo "$ALL"; echo "$IP"; echo "$LABEL"; echo "$CPU"; ${forever}`;
    const main = container('main', script, { env, resources: { requests: { cpu: '250m' } } });
    own.write('fields', manifest('fields', { metadata: { labels: { app: 'web' } }, containers: [main] }));
    const pod = await untilRunning(kubelet, 'fields');
    expect(await untilLogged(kubelet, pod, 4)).toEqual([
      `fields-${kubelet.nodeName} on ${kubelet.nodeName}`,
      pod.status?.podIP,
      'web',
      '250',
    ]);
  });

  test('metrics count starts, and failed starts by reason', async () => {
    own.write('counted', withMain('counted', exitsOnTerm));
    own.write('failing', withMain('failing', exitsOnTerm, { securityContext: { runAsNonRoot: true } }));
    await untilRunning(kubelet, 'counted');
    const code = 'CreateContainerConfigError';
    await untilContainer(kubelet, 'failing', code, (each) => each.state?.waiting?.reason === code);
    const metrics = await (await kubelet.get(kubelet.readOnlyPort, '/metrics')).text();
    expect(metrics).toMatch(/^kubelet_started_pods_total [1-9]/m);
    expect(metrics).toMatch(/^kubelet_started_containers_total\{container_type="container"\} [1-9]/m);
    expect(metrics).toContain(
      `kubelet_started_containers_errors_total{container_type="container",code="${code}"}`,
    );
  });

  test('a container has a hosts file with aliases, and its hostname', async () => {
    const main = container('main', `hostname; cat /etc/hosts; ${forever}`);
    const hostAliases = [{ ip: '192.0.2.7', hostnames: ['one', 'two'] }];
    const over = { hostname: 'myhost', subdomain: 'sub', hostAliases, containers: [main] };
    own.write('hosts', manifest('hosts', over));
    const pod = await untilRunning(kubelet, 'hosts');
    const lines = await untilLogged(kubelet, pod, 12);
    expect(lines[0]).toBe('myhost');
    expect(lines[1]).toBe('# Kubernetes-managed hosts file.');
    expect(lines).toContain(`${pod.status?.podIP}\tmyhost.sub.default.svc.\tmyhost`);
    expect(lines.slice(-2)).toEqual(['# Entries added by HostAliases.', '192.0.2.7\tone\ttwo']);
  });

  test('a hostname override replaces hostname and domain, also in the hosts file', async () => {
    const main = container('main', `hostname; cat /etc/hosts; ${forever}`);
    const over = {
      hostname: 'myhost',
      subdomain: 'sub',
      hostnameOverride: 'other.example.com',
      containers: [main],
    };
    own.write('override', manifest('override', over));
    const pod = await untilRunning(kubelet, 'override');
    const lines = await untilLogged(kubelet, pod, 9);
    expect(lines[0]).toBe('other.example.com');
    expect(lines).toContain(`${pod.status?.podIP}\tother.example.com`);
    expect(lines.join('\n')).not.toContain('myhost');
  });

  test('a container runs with its user, groups, capabilities and read-only root', async () => {
    const securityContext = {
      runAsUser: 1234,
      runAsGroup: 2345,
      readOnlyRootFilesystem: true,
      allowPrivilegeEscalation: false,
      capabilities: { drop: ['ALL'] },
    };
    const script = `id -u; id -g; grep -E '^(CapBnd|NoNewPrivs)' /proc/self/status | tr -d '\\t'; touch /x 2>&1 | grep -c 'Read-only'; ${forever}`;
    const main = container('main', script, { securityContext });
    const over = { securityContext: { fsGroup: 3456 }, containers: [main] };
    own.write('secure', manifest('secure', over));
    const pod = await untilRunning(kubelet, 'secure');
    expect(await untilLogged(kubelet, pod, 5)).toEqual([
      '1234',
      '2345',
      'CapBnd:0000000000000000',
      'NoNewPrivs:1',
      '1',
    ]);
  });

  test('the termination message comes from its file, or from the log with FallbackToLogsOnError', async () => {
    const withFile = container('main', 'echo -n "I am done" > /dev/termination-log; exit 3');
    own.write('file', manifest('file', { restartPolicy: 'Never', containers: [withFile] }));
    const logged = container('main', 'echo going down; exit 4', {
      terminationMessagePolicy: 'FallbackToLogsOnError',
    });
    own.write('log', manifest('log', { restartPolicy: 'Never', containers: [logged] }));
    const ended = async (name: string): Promise<unknown> => {
      const pod = await untilPod(kubelet, name, 'Failed', ({ phase }) => phase === 'Failed');
      return containerStatus(pod).state?.terminated;
    };
    expect(await ended('file')).toMatchObject({ exitCode: 3, message: 'I am done' });
    expect(await ended('log')).toMatchObject({ exitCode: 4, message: 'going down\n' });
  });

  test('a postStart hook runs in the container, and a failed one ends it', async () => {
    const postStart = { exec: { command: ['sh', '-c', 'echo hooked > /tmp/hook'] } };
    const script = `while [ ! -s /tmp/hook ]; do sleep 0.1; done; cat /tmp/hook; ${forever}`;
    own.write('hook', withMain('hook', script, { lifecycle: { postStart } }));
    expect(await untilLogged(kubelet, await untilRunning(kubelet, 'hook'), 1)).toEqual(['hooked']);
    const failing = { exec: { command: ['sh', '-c', 'echo oh no; exit 5'] } };
    own.write('bad-hook', withMain('bad-hook', exitsOnTerm, { lifecycle: { postStart: failing } }));
    await untilContainer(kubelet, 'bad-hook', 'ended by its hook', ({ restartCount }) => restartCount > 0);
  });

  test('a postStart hook sends a request or sleeps, and the next container starts after it', async () => {
    const received: (string | undefined)[] = [];
    const held: ServerResponse[] = [];
    const server = createServer((request, response) => {
      received.push(request.url, request.headers['x-hook']?.toString());
      held.push(response);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void server.close());
    const { port } = server.address() as AddressInfo;
    const httpHeaders = [{ name: 'X-Hook', value: 'mine' }];
    const httpGet = { host: '127.0.0.1', port, path: '/started', httpHeaders };
    const containers = [
      container('main', forever, { lifecycle: { postStart: { httpGet } } }),
      container('pausing', forever, { lifecycle: { postStart: { sleep: { seconds: 1 } } } }),
      container('last', forever),
    ];
    own.write('hooks', manifest('hooks', { containers }));
    const answer = await waitFor(() => held[0], 'the request of the hook');
    expect(received).toEqual(['/started', 'mine']);
    const waiting = await untilPod(kubelet, 'hooks', 'pending', ({ phase }) => phase === 'Pending');
    expect(containerStatus(waiting, 'pausing').state?.waiting?.reason).toBe('ContainerCreating');
    answer.end();
    const pod = await untilRunning(kubelet, 'hooks');
    const startedMs = (name: string): number =>
      Date.parse(containerStatus(pod, name).state?.running?.startedAt ?? '');
    expect(startedMs('last') - startedMs('pausing')).toBeGreaterThanOrEqual(1000);
    expect(held).toHaveLength(1);
  });

  test('logs are linked by their legacy names, and the links are removed with the containers', async () => {
    const links = join(dirname(kubelet.podLogsDir), 'containers');
    own.write('linked', withMain('linked', `echo hello; ${forever}`));
    const pod = await untilRunning(kubelet, 'linked');
    const name = `${pod.metadata?.name}_default_main-${containerIdOf(pod)}.log`;
    await waitFor(() => existsSync(join(links, name)), `the link ${name}`);
    expect(readlinkSync(join(links, name))).toBe(logPath(kubelet, pod));
    expect(readFileSync(join(links, name), 'utf8')).toContain('hello');
    own.remove('linked');
    await untilNoPod(kubelet, 'linked');
    await waitFor(
      () => readdirSync(links).every((each) => !each.startsWith('linked-')),
      'the link to be removed',
    );
  });
});
