// Runs the contract on the double: without sockets, and with the client's own transport over HTTPS, HTTP/2 and
// HTTP/1.1. integration/api-server-contract.test.ts runs it on real servers.
import { realClock } from '../../../src/base/clock.ts';
import { silentLogger } from '../../../src/base/log/log.ts';
import { parseKubeconfig } from '../../../src/edge/apiserver/kubeconfig.ts';
import { openApiServer } from '../../../src/edge/apiserver/open-api-server.ts';
import { ApiServerDouble, adminUser, bootstrapUser, nodeUser } from '../double.ts';
import { serveDouble } from '../http-front.ts';
import { adminCertificate, kubeconfigText, nodeCertificate } from '../kubeconfig-text.ts';
import { memoryClient } from '../memory-client.ts';
import { type KeyPair, TestAuthority } from '../pki.ts';
import { apiServerContract } from './contract.ts';

const token = 'abcdef.0123456789abcdef';

function makeDouble(authority = new TestAuthority()): ApiServerDouble {
  const users = { [token]: bootstrapUser('abcdef') };
  const double = new ApiServerDouble({ clock: realClock, schedule: false, users, sign: authority.sign });
  // So that there is a resource version that has expired.
  double.store.compact();
  return double;
}

apiServerContract('the double, in memory', () => {
  const double = makeDouble();
  return Promise.resolve({
    admin: memoryClient(double, realClock, adminUser).client,
    asNode: (name) => memoryClient(double, realClock, nodeUser(name)).client,
    asBootstrapper: () => memoryClient(double, realClock, bootstrapUser('abcdef')).client,
    close: () => {
      double.close();
      return Promise.resolve();
    },
  });
});

for (const http2 of [true, false])
  apiServerContract(`the double, over HTTPS with ${http2 ? 'HTTP/2' : 'HTTP/1.1'}`, async () => {
    const authority = new TestAuthority();
    const double = makeDouble(authority);
    const front = await serveDouble(double, { authority, http2 });
    const servers: { close(): void }[] = [];
    const as = (who: { readonly client: KeyPair } | { readonly token: string }) => {
      const server = openApiServer({
        access: parseKubeconfig(kubeconfigText({ front, authority, ...who }), '/'),
        clock: realClock,
        log: silentLogger,
        userAgent: 'kubelet/contract',
        limits: { requests: { qps: 0, burst: 0 }, events: { qps: 0, burst: 0 } },
        heartbeatTimeoutMs: 10_000,
        gates: { ClientsAllowCARotation: true, WatchListClient: true },
      });
      servers.push(server);
      return server.client;
    };
    return {
      admin: as({ client: adminCertificate(authority) }),
      asNode: (name) => as({ client: nodeCertificate(authority, name) }),
      asBootstrapper: () => as({ token }),
      close: async () => {
        for (const server of servers) server.close();
        double.close();
        await front.close();
      },
    };
  });
