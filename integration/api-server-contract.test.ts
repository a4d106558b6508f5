// The API server contract on a real API server, and real kubectl on the double.
// KUBECONFIG_CONTRACT is the path of a kubeconfig of a disposable cluster, with an administrator who may impersonate.
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ClusterAccess } from '../src/api/ports/cluster-access.ts';
import { realClock } from '../src/base/clock.ts';
import { silentLogger } from '../src/base/log/log.ts';
import { openApiServer, readKubeconfig } from '../src/edge/apiserver/open-api-server.ts';
import { apiServerContract } from '../test/api-server/contract/contract.ts';
import { ApiServerDouble } from '../test/api-server/double.ts';
import { type HttpFront, serveDouble } from '../test/api-server/http-front.ts';
import { adminCertificate, kubeconfigText } from '../test/api-server/kubeconfig-text.ts';
import { KubeletProxy } from '../test/api-server/kubelet-proxy.ts';
import { TestAuthority } from '../test/api-server/pki.ts';
import { kubectlUnavailableReason } from './support/cluster.ts';

const kubeconfig = process.env['KUBECONFIG_CONTRACT'] ?? '';
const skipReason = kubeconfig === '' ? 'KUBECONFIG_CONTRACT is not set' : undefined;

describe.skipIf(skipReason !== undefined)(
  skipReason === undefined
    ? 'the contract on a real API server'
    : `the contract on a real API server (skipped: ${skipReason})`,
  () => {
    apiServerContract('a real API server', async () => {
      const access = await readKubeconfig(kubeconfig);
      const servers: { close(): void }[] = [];
      const as = (who: ClusterAccess['impersonate']) => {
        const server = openApiServer({
          access: { ...access, impersonate: who },
          clock: realClock,
          log: silentLogger,
          userAgent: 'kubelet/contract',
          limits: { requests: { qps: 50, burst: 100 }, events: { qps: 50, burst: 100 } },
          heartbeatTimeoutMs: 10_000,
          gates: { ClientsAllowCARotation: true, WatchListClient: true },
        });
        servers.push(server);
        return server.client;
      };
      return {
        keepsHistory: true,
        admin: as(undefined),
        asNode: (name) =>
          as({ user: `system:node:${name}`, groups: ['system:nodes', 'system:authenticated'] }),
        asBootstrapper: () =>
          as({
            user: 'system:bootstrap:contract',
            groups: ['system:bootstrappers', 'system:authenticated'],
          }),
        close: () => {
          for (const server of servers) server.close();
          return Promise.resolve();
        },
      };
    });
  },
);

describe.skipIf(kubectlUnavailableReason !== undefined)(
  kubectlUnavailableReason === undefined
    ? 'kubectl on the double'
    : `kubectl on the double (skipped: ${kubectlUnavailableReason})`,
  () => {
    let double: ApiServerDouble;
    let front: HttpFront;
    let kubelet: Server;
    let directory: string;

    beforeAll(async () => {
      const authority = new TestAuthority();
      const tls = authority.issue({ commonName: 'n1', hosts: ['127.0.0.1'], usage: 'server' });
      kubelet = createServer({ cert: tls.cert, key: tls.key }, (request, response) =>
        response.end(`log of ${request.url}\n`),
      );
      await new Promise<void>((resolve) => kubelet.listen(0, '127.0.0.1', resolve));
      double = new ApiServerDouble({ clock: realClock });
      const admin = adminCertificate(authority);
      front = await serveDouble(double, { authority, proxy: new KubeletProxy(admin) });
      directory = await mkdtemp(join(tmpdir(), 'kubectl-'));
      await writeFile(join(directory, 'config'), kubeconfigText({ front, authority, client: admin }));
      double.objects.create('nodes', { metadata: { name: 'n1' } });
      const status = {
        conditions: [{ type: 'Ready', status: 'True' }],
        addresses: [{ type: 'InternalIP', address: '127.0.0.1' }],
        daemonEndpoints: { kubeletEndpoint: { Port: (kubelet.address() as AddressInfo).port } },
      };
      double.objects.patch('nodes', '', 'n1', { status }, 'status');
    });
    afterAll(async () => {
      double.close();
      await front.close();
      kubelet.closeAllConnections();
      await new Promise((resolve) => kubelet.close(resolve));
      await rm(directory, { recursive: true, force: true });
    });

    /** Returns the output with normalised spaces. kubectl's home is in the test's directory. */
    async function kubectl(...args: readonly string[]): Promise<string> {
      const path =
        ['/usr/bin/kubectl', '/usr/local/bin/kubectl'].find((each) => existsSync(each)) ?? 'kubectl';
      const env = { PATH: process.env['PATH'] ?? '', HOME: directory, KUBECONFIG: join(directory, 'config') };
      const { stdout } = await promisify(execFile)(path, args, { env, timeout: 60_000 });
      return stdout.replace(/ +/g, ' ').replace(/ $/gm, '');
    }

    test('get, run, describe, apply, logs and delete', async () => {
      expect(await kubectl('get', 'nodes', '--no-headers')).toMatch(/^n1 Ready <none> \S+/);
      expect(await kubectl('run', 'web', '--image=registry.example/web:1')).toBe('pod/web created\n');
      expect(await kubectl('get', 'pods', '-o', 'wide')).toMatch(
        /^NAME READY STATUS .*\nweb 0\/1 Pending 0 \S+ <none> n1/,
      );
      const described = await kubectl('describe', 'pod', 'web');
      expect(described).toMatch(/Image: registry\.example\/web:1/);
      expect(described).toMatch(/kube-api-access-\w{5}:/);
      expect(await kubectl('describe', 'node', 'n1')).toMatch(/Non-terminated Pods: \(1 in total\)/);
      const file = join(directory, 'conf.yaml');
      const apply = async (value: string): Promise<string> => {
        await writeFile(
          file,
          `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: conf}\ndata: {a: "${value}"}\n`,
        );
        return await kubectl('apply', '-f', file);
      };
      expect([await apply('1'), await apply('1'), await apply('2')]).toEqual([
        'configmap/conf created\n',
        'configmap/conf unchanged\n',
        'configmap/conf configured\n',
      ]);
      expect(await kubectl('get', 'configmap', 'conf', '-o', 'jsonpath={.data.a}')).toBe('2');
      expect(await kubectl('logs', 'web')).toBe('log of /containerLogs/default/web/web\n');
      await kubectl('delete', 'pod', 'web', '--wait=false');
      expect(await kubectl('get', 'pods', '--no-headers')).toMatch(/^web 0\/1 Terminating/);
      await kubectl('delete', 'pod', 'web', '--force', '--grace-period=0');
      expect(await kubectl('get', 'pods', '-o', 'name')).toBe('');
    });
  },
);
