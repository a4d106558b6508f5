import { expect, test } from 'vitest';
import { aPod } from '../../../test/builders/builders.ts';
import type { Service } from '../../api/k8s/types.ts';
import { serviceEnv } from './service-env.ts';

const service = (name: string, namespace: string, clusterIP: string, ports: object[]): Service => ({
  metadata: { name, namespace },
  spec: { clusterIP, ports: ports as never },
});
const kubernetes = service('kubernetes', 'default', '10.96.0.1', [{ name: 'https', port: 443 }]);

test('includes every service of the namespace and the API server', () => {
  const services = [
    service('my-db', 'shop', 'fd00::9', [
      { port: 53, protocol: 'UDP' },
      { name: 'web-ui', port: 80 },
    ]),
    service('headless', 'shop', 'None', [{ port: 1 }]),
    service('other', 'other', '10.0.0.3', [{ port: 1 }]),
    kubernetes,
  ];
  expect(Object.fromEntries(serviceEnv(aPod({ namespace: 'shop' }), services))).toEqual({
    KUBERNETES_SERVICE_HOST: '10.96.0.1',
    KUBERNETES_SERVICE_PORT: '443',
    KUBERNETES_SERVICE_PORT_HTTPS: '443',
    KUBERNETES_PORT: 'tcp://10.96.0.1:443',
    KUBERNETES_PORT_443_TCP: 'tcp://10.96.0.1:443',
    KUBERNETES_PORT_443_TCP_PROTO: 'tcp',
    KUBERNETES_PORT_443_TCP_PORT: '443',
    KUBERNETES_PORT_443_TCP_ADDR: '10.96.0.1',
    MY_DB_SERVICE_HOST: 'fd00::9',
    MY_DB_SERVICE_PORT: '53',
    MY_DB_SERVICE_PORT_WEB_UI: '80',
    MY_DB_PORT: 'udp://[fd00::9]:53',
    MY_DB_PORT_53_UDP: 'udp://[fd00::9]:53',
    MY_DB_PORT_53_UDP_PROTO: 'udp',
    MY_DB_PORT_53_UDP_PORT: '53',
    MY_DB_PORT_53_UDP_ADDR: 'fd00::9',
    MY_DB_PORT_80_TCP: 'tcp://[fd00::9]:80',
    MY_DB_PORT_80_TCP_PROTO: 'tcp',
    MY_DB_PORT_80_TCP_PORT: '80',
    MY_DB_PORT_80_TCP_ADDR: 'fd00::9',
  });
});

test('includes only the API server without enableServiceLinks', () => {
  const services = [service('a', 'shop', '10.0.0.3', [{ port: 1 }]), kubernetes];
  const env = serviceEnv(aPod({ namespace: 'shop', enableServiceLinks: false }), services);
  expect([...env.keys()].every((name) => name.startsWith('KUBERNETES_'))).toBe(true);
  expect(env.size).toBe(8);
});
