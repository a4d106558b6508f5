// The pods of the pictures in README.md: a small application of a shop, one part of which crash-loops. Their images are served by the rig's
// registry, which stands for every registry.
import type { Container, Pod } from '../../src/api/k8s/types.ts';
import { container, exitsOnTerm, manifest } from './manifest.ts';

/** Loops, prints a line and pauses, so that the plots of pods differ. */
const works = (loops: number, pauseSeconds: number, line: string): string =>
  `trap 'exit 0' TERM; n=0; while :; do i=0; while [ $i -lt ${loops} ]; do i=$((i+1)); done; n=$((n+1)); echo "${line}"; sleep ${pauseSeconds}; done`;

const holds = (mebibytes: number): string =>
  `head -c ${mebibytes * 1024 * 1024} /dev/zero > /dev/shm/held; ${exitsOnTerm}`;

/** Repository and tag. */
export const picturedImages = {
  web: 'shop/web:1.8.2',
  api: 'shop/api:42',
  cache: 'shop/cache:7',
  resizer: 'shop/image-resizer:3.1',
  migrate: 'shop/db-migrate:42',
  agent: 'ops/metrics-agent:0.9',
  shipper: 'ops/log-shipper:2.0',
  cart: 'shop/cart:5.4',
  search: 'shop/search:2.2.1',
  payments: 'shop/payments:11',
  reports: 'shop/reports:0.3',
  backup: 'ops/backup:1.4',
} as const;

type ImageName = keyof typeof picturedImages;

function app(image: ImageName, name: string, script: string, over: Partial<Container> = {}): Container {
  return container(name, script, { image: `registry.example/${picturedImages[image]}`, ...over });
}

const httpGet = (path: string) => ({ httpGet: { path, port: 8080 }, periodSeconds: 2 });
const serves = 'mkdir -p /srv && echo ok > /srv/healthz && exec httpd -f -p 8080 -h /srv';
const data = [{ name: 'data', mountPath: '/data' }];

/** In the order of their start. */
export const picturedPods: Readonly<Record<string, Pod>> = {
  api: manifest('api', {
    volumes: [
      { name: 'data', emptyDir: {} },
      { name: 'cache', emptyDir: { medium: 'Memory', sizeLimit: '64Mi' } },
    ],
    initContainers: [
      app('api', 'wait-for-db', 'echo waiting for db:5432; sleep 0.9; echo db is ready', {
        volumeMounts: data,
      }),
      app('api', 'load-schema', 'sleep 0.6; echo schema 42 loaded > /data/schema', { volumeMounts: data }),
    ],
    containers: [
      app('api', 'server', `sleep 0.8; ${serves}`, {
        volumeMounts: [...data, { name: 'cache', mountPath: '/cache' }],
        startupProbe: { ...httpGet('/healthz'), periodSeconds: 1, failureThreshold: 30 },
        readinessProbe: { ...httpGet('/healthz'), periodSeconds: 1 },
        livenessProbe: httpGet('/healthz'),
      }),
      app('api', 'worker', works(4000, 0.2, 'order $n shipped')),
    ],
  }),
  web: manifest('web', {
    containers: [
      app('web', 'nginx', serves, {
        readinessProbe: httpGet('/healthz'),
        livenessProbe: httpGet('/healthz'),
      }),
      app('web', 'access-log', works(400, 0.3, 'GET /cart 200 $((n*7%90)) ms')),
    ],
  }),
  cache: manifest('cache', { containers: [app('cache', 'redis', holds(48))] }),
  'image-resizer': manifest('image-resizer', {
    containers: [app('resizer', 'main', works(30_000, 0.5, 'resized photo-$n.jpg'))],
  }),
  'db-migrate': manifest('db-migrate', {
    containers: [
      app(
        'migrate',
        'migrate',
        'echo applying 0042_orders.sql; sleep 0.4; echo "ERROR: relation orders does not exist" >&2; exit 3',
      ),
    ],
  }),
  'metrics-agent': manifest('metrics-agent', {
    containers: [app('agent', 'agent', works(900, 1, 'pushed $((n*3)) samples'))],
  }),
  cart: manifest('cart', {
    containers: [app('cart', 'cart', serves, { readinessProbe: httpGet('/healthz') })],
  }),
  search: manifest('search', {
    containers: [
      app('search', 'index', holds(24)),
      app('search', 'query', works(2500, 0.4, 'query $n took $((n*13%70)) ms')),
    ],
  }),
  payments: manifest('payments', {
    containers: [
      app('payments', 'server', serves, { readinessProbe: httpGet('/healthz') }),
      app('payments', 'audit', works(700, 0.7, 'payment $n authorized')),
    ],
  }),
  reports: manifest('reports', {
    initContainers: [app('reports', 'wait-for-warehouse', exitsOnTerm)],
    containers: [app('reports', 'main', exitsOnTerm)],
  }),
  backup: manifest('backup', {
    restartPolicy: 'Never',
    containers: [app('backup', 'dump', 'echo dumped 18 tables; sleep 2')],
  }),
  'log-shipper': manifest('log-shipper', {
    containers: [app('shipper', 'shipper', works(200, 0.8, 'shipped batch $n'))],
  }),
};

/** Those that do not become ready. */
export const unreadyPods: readonly string[] = ['db-migrate', 'reports', 'backup'];
