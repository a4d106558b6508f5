// Canary secrets on every path into the kubelet, at the highest verbosity and with failures on each path, do not appear
// in the kubelet's output: log, events, statuses, HTTP pages and files.
import { once } from 'node:events';
import { chmodSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { request as httpsRequest, type RequestOptions } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, onTestFailed, test } from 'vitest';
import type { PodSpec } from '../src/api/k8s/types.ts';
import { bootstrapUser } from '../test/api-server/double.ts';
import { buildBusyboxImage } from './rig/images.ts';
import type { Kubelet } from './rig/kubelet.ts';
import { describeOnRig } from './rig/on-rig.ts';
import { type Rig, startRig } from './rig/rig.ts';
import { waitFor } from './rig/wait.ts';
import { Canaries, type Leak } from './support/canaries.ts';
import { bootstrapToken, type Cluster, startCluster } from './support/cluster.ts';
import { container, exitsOnTerm, manifest } from './support/manifest.ts';

const providerVersion = 'credentialprovider.kubelet.k8s.io/v1';
const patienceMs = 90_000;

describeOnRig('secret leaks', () => {
  const canaries = new Canaries();
  const password = canaries.plant('pull password');
  const wrongPassword = canaries.plant('wrong pull password');
  const brokenPassword = canaries.plant('password in a broken pull secret');
  const nodePassword = canaries.plant("password in the node's broken config.json");
  const pluginPassword = canaries.plant('password from a credential provider');
  const pluginBabble = canaries.plant('password in broken output of a credential provider');
  const envValue = canaries.plant('Secret as env');
  const envFromValue = canaries.plant('Secret as envFrom');
  const badEnvName = canaries.plant('value of a key that is not a valid variable name');
  const volumeValue = canaries.plant('Secret as volume');
  const projectedValue = canaries.plant('Secret as projected volume');
  const probeHeader = canaries.plant('Authorization header of a probe');
  const hookHeader = canaries.plant('Authorization header of a hook');
  const badHookHeader = canaries.plant('header of a hook that cannot be sent');
  const validToken = canaries.plant('bearer token of a client');
  const invalidToken = canaries.plant('invalid bearer token');
  const failedToken = canaries.plant('bearer token whose review fails');
  const urlUser = canaries.plant('user in staticPodURL');
  const urlPassword = canaries.plant('password in staticPodURL');
  const urlQuery = canaries.plant('query of staticPodURL');
  const urlHeader = canaries.plant('header of staticPodURL');
  const proxyPassword = canaries.plant('password in HTTPS_PROXY');
  const runArgument = canaries.plant('argument of /run');
  const joinToken = `canary.${canaries.plant('bootstrap token').slice(0, 16)}`;
  canaries.add('bootstrap token', joinToken);
  canaries.add('basic auth of staticPodURL', `${urlUser}:${urlPassword}`);
  canaries.add('basic auth of the pull secret', `ann:${password}`, `ann:${wrongPassword}`);
  /** Part of the pod's spec, which shows them. */
  const inSpecs = [
    'Authorization header of a probe',
    'Authorization header of a hook',
    'header of a hook that cannot be sent',
  ];

  let rig: Rig;
  let cluster: Cluster;
  let kubelet: Kubelet;
  let manifests: Server;
  let manifestRequests = 0;

  beforeAll(async () => {
    rig = await startRig();
    cluster = await startCluster(rig, 'node1', {
      users: {
        [joinToken]: bootstrapUser('canary'),
        [validToken]: { name: 'client', groups: ['system:masters', 'system:authenticated'] },
      },
    });
    manifests = createServer((request, response) => {
      manifestRequests += 1;
      // A server that echoes the request, as debugging proxies do.
      const echo = JSON.stringify({ url: request.url, headers: request.headers });
      response.writeHead(manifestRequests % 2 === 0 ? 500 : 200).end(echo);
    }).listen(0, '127.0.0.1');
    await once(manifests, 'listening');
    const { dir } = rig.workspace;
    const { host } = rig.registry;
    const plugins = join(dir, 'plugins');
    mkdirSync(plugins);
    const plugin = (name: string, answer: string): object => {
      writeFileSync(join(plugins, name), `#!/bin/sh\ncat > /dev/null\necho '${answer}'\n`);
      chmodSync(join(plugins, name), 0o755);
      return {
        name,
        matchImages: [`${host}/${name}`],
        defaultCacheDuration: '1h',
        apiVersion: providerVersion,
      };
    };
    const auth = { [`${host}/answers`]: { username: 'ann', password: pluginPassword } };
    const answer = {
      apiVersion: providerVersion,
      kind: 'CredentialProviderResponse',
      cacheKeyType: 'Image',
      auth,
    };
    const providers = [
      plugin('answers', JSON.stringify(answer)),
      plugin('babbles', `{"auth": {"password": "${pluginBabble}"`),
    ];
    const providerConfig = join(dir, 'credential-providers.json');
    writeFileSync(
      providerConfig,
      JSON.stringify({ apiVersion: 'kubelet.config.k8s.io/v1', kind: 'CredentialProviderConfig', providers }),
    );
    const bootstrap = join(dir, 'canary-bootstrap.kubeconfig');
    const known = readFileSync(cluster.bootstrapKubeconfig, 'utf8');
    writeFileSync(bootstrap, known.replace(bootstrapToken, joinToken), { mode: 0o600 });
    const { port } = manifests.address() as AddressInfo;
    kubelet = rig.newKubelet({
      nodeName: 'node1',
      verbosity: 10,
      config: {
        ...cluster.kubeletConfig,
        httpCheckFrequency: '1s',
        featureGates: { ComponentStatusz: true, ComponentFlagz: true },
      },
      flags: [
        `--bootstrap-kubeconfig=${bootstrap}`,
        `--kubeconfig=${join(dir, 'joined.kubeconfig')}`,
        `--image-credential-provider-config=${providerConfig}`,
        `--image-credential-provider-bin-dir=${plugins}`,
        `--manifest-url=http://${urlUser}:${urlPassword}@127.0.0.1:${port}/pods?token=${urlQuery}`,
        `--manifest-url-header=X-Token:${urlHeader}`,
      ],
    });
    mkdirSync(kubelet.rootDir, { recursive: true });
    writeFileSync(
      join(kubelet.rootDir, 'config.json'),
      `{"auths": {"${host}": {"password": "${nodePassword}"`,
    );
    await kubelet.start();
    await cluster.untilNodeReady();
  });
  afterAll(async () => {
    await rig.stop();
    await cluster.stop();
    manifests.closeAllConnections();
    manifests.close();
  });

  const create = (name: string, over: Partial<PodSpec>): void => void cluster.createPod(manifest(name, over));
  const base64 = (text: string): string => Buffer.from(text).toString('base64');
  const secret = (name: string, data: Readonly<Record<string, string>>, type = 'Opaque'): void => {
    const encoded = Object.entries(data).map(([key, value]) => [key, base64(value)] as const);
    cluster.double.objects.create('secrets', {
      metadata: { name, namespace: 'default' },
      type,
      data: Object.fromEntries(encoded),
    });
  };
  const untilWaiting = async (name: string, reasons: readonly string[]): Promise<void> =>
    void (await cluster.untilPod(name, `to wait for ${reasons.join()}`, ({ containerStatuses = [] }) =>
      containerStatuses.some(({ state }) => reasons.includes(state?.waiting?.reason ?? '')),
    ));
  const untilEvent = async (reason: string, text = ''): Promise<void> =>
    void (await waitFor(
      () =>
        cluster.double.objects
          .list('events', 'default')
          .some((event) => event.reason === reason && (event.message ?? '').includes(text)),
      `an event ${reason} ${text}`,
      patienceMs,
    ));

  function ask(line: string, options: RequestOptions = {}): Promise<{ status: number; text: string }> {
    const [method = 'GET', path = '/'] = line.split(' ');
    const { cert, key } = cluster.admin;
    const who = options.headers === undefined ? { cert, key } : {};
    return new Promise((resolve, reject) => {
      const target = { host: '127.0.0.1', port: kubelet.securePort, path, method, agent: false };
      const request = httpsRequest(
        { ...target, rejectUnauthorized: false, ...who, ...options },
        (response) => {
          let text = '';
          response.setEncoding('utf8');
          response.on('data', (chunk: string) => {
            text += chunk;
          });
          response.on('end', () => resolve({ status: response.statusCode ?? 0, text }));
          response.on('error', reject);
        },
      );
      request.on('error', reject);
      request.setTimeout(60_000, () => request.destroy(new Error(`no response to ${line}`)));
      request.end();
    });
  }

  test('no secret appears in the kubelet’s output', { timeout: 300_000 }, async () => {
    onTestFailed(() => console.error(cluster.describeState(kubelet)));
    const { host } = rig.registry;
    const image = await buildBusyboxImage();
    rig.registry.requireAuth({ scheme: 'basic', username: 'ann', password });
    for (const name of ['private:1', 'other:1', 'answers:1', 'babbles:1']) rig.registry.add(name, image);

    secret('values', { env: envValue, volume: volumeValue, projected: projectedValue });
    secret('environment', { FROM: envFromValue, 'not a=name': badEnvName });
    const dockerConfig = (text: string): Readonly<Record<string, string>> => ({ '.dockerconfigjson': text });
    const auths = (word: string): string =>
      JSON.stringify({
        auths: { [host]: { username: 'ann', password: word, auth: base64(`ann:${word}`) } },
      });
    const dockerType = 'kubernetes.io/dockerconfigjson';
    secret('pull', dockerConfig(auths(password)), dockerType);
    secret('wrong-pull', dockerConfig(auths(wrongPassword)), dockerType);
    secret('broken-pull', dockerConfig(auths(brokenPassword).slice(0, -8)), dockerType);

    // All secrets in one pod that runs.
    const header = (value: string) => [{ name: 'Authorization', value: `Bearer ${value}` }];
    create('reader', {
      imagePullSecrets: [{ name: 'pull' }],
      volumes: [
        {
          name: 's',
          secret: { secretName: 'values', items: [{ key: 'volume', path: 'volume' }], defaultMode: 0o400 },
        },
        {
          name: 'p',
          projected: {
            sources: [
              { secret: { name: 'values', items: [{ key: 'projected', path: 'projected' }] } },
              { serviceAccountToken: { path: 'token', expirationSeconds: 600 } },
            ],
          },
        },
      ],
      containers: [
        container('main', exitsOnTerm, {
          image: `${host}/private:1`,
          env: [{ name: 'WORD', valueFrom: { secretKeyRef: { name: 'values', key: 'env' } } }],
          envFrom: [{ secretRef: { name: 'environment' } }],
          volumeMounts: [
            { name: 's', mountPath: '/s' },
            { name: 'p', mountPath: '/p' },
          ],
          livenessProbe: {
            httpGet: { port: 1, httpHeaders: header(probeHeader) },
            periodSeconds: 1,
            failureThreshold: 1000,
          },
        }),
      ],
    });
    // Pods that fail.
    const pull = (name: string, repository: string, pullSecret?: string): void =>
      create(name, {
        ...(pullSecret === undefined ? {} : { imagePullSecrets: [{ name: pullSecret }] }),
        containers: [container('main', exitsOnTerm, { image: `${host}/${repository}:1` })],
      });
    pull('wrong-pull', 'other', 'wrong-pull');
    pull('broken-pull', 'other', 'broken-pull');
    pull('plugin-pull', 'answers');
    pull('babble-pull', 'babbles');
    create('missing-key', {
      containers: [
        container('main', exitsOnTerm, {
          env: [
            { name: 'WORD', valueFrom: { secretKeyRef: { name: 'values', key: 'env' } } },
            { name: 'NONE', valueFrom: { secretKeyRef: { name: 'values', key: 'none' } } },
          ],
        }),
      ],
    });
    create('missing-path', {
      volumes: [{ name: 's', secret: { secretName: 'values', items: [{ key: 'none', path: 'none' }] } }],
      containers: [container('main', exitsOnTerm, { volumeMounts: [{ name: 's', mountPath: '/s' }] })],
    });
    const hooked = (name: string, httpHeaders: { name: string; value: string }[]): void =>
      create(name, {
        containers: [
          container('main', exitsOnTerm, {
            lifecycle: { postStart: { httpGet: { host: '127.0.0.1', port: 1, httpHeaders } } },
          }),
        ],
      });
    hooked('hooked', header(hookHeader));
    hooked('bad-hooked', [{ name: 'X-Token', value: `${badHookHeader}\r\nX: y` }]);

    // Pods that end, with a secret in environment and volume; one prints a word of its own.
    const holder = {
      restartPolicy: 'Never',
      volumes: [{ name: 's', secret: { secretName: 'values' } }],
    };
    const holding = {
      env: [{ name: 'WORD', valueFrom: { secretKeyRef: { name: 'values', key: 'env' } } }],
      volumeMounts: [{ name: 's', mountPath: '/s' }],
    };
    create('ends', { ...holder, containers: [container('main', 'echo own words; exit 3', holding)] });
    create('cannot-start', {
      ...holder,
      containers: [container('main', '', { ...holding, command: ['/nope'] })],
    });

    await cluster.untilPod('reader', 'to run', ({ phase }) => phase === 'Running');
    for (const name of ['wrong-pull', 'broken-pull', 'plugin-pull', 'babble-pull'])
      await untilWaiting(name, ['ErrImagePull', 'ImagePullBackOff']);
    await untilWaiting('missing-key', ['CreateContainerConfigError']);
    await untilEvent('FailedMount', 'references non-existent secret key');
    await untilEvent('FailedPostStartHook');
    await untilEvent('Unhealthy');
    await waitFor(() => manifestRequests > 3, 'the manifests to be requested', patienceMs);

    for (const name of ['ends', 'cannot-start'])
      await cluster.untilPod(name, 'to fail', ({ phase }) => phase === 'Failed');
    const ended = await waitFor(
      async () => {
        const { text } = await ask('GET /explain/history');
        return text.includes('/nope') && text.includes('own words') && text;
      },
      'the history of both pods',
      patienceMs,
    );
    expect(ended).toContain('Container main exited with an error (exit code 3).');

    // Clients of the secure port.
    const bearer = (token: string): RequestOptions => ({ headers: { authorization: `Bearer ${token}` } });
    expect((await ask('GET /pods', bearer(validToken))).status).toBe(200);
    expect((await ask('GET /pods', bearer(invalidToken))).status).toBe(401);
    const message = `cannot review {"spec":{"token":"${failedToken}"}}`;
    const failing = cluster.double.faults.fail(
      { resource: 'tokenreviews' },
      { code: 500, message, times: 9 },
    );
    expect((await ask('GET /pods', bearer(failedToken))).status).not.toBe(200);
    failing.remove();
    const protocols = `base64url.bearer.authorization.k8s.io.${Buffer.from(invalidToken).toString('base64url')}`;
    const upgrade = { connection: 'upgrade', upgrade: 'websocket', 'sec-websocket-protocol': protocols };
    await ask('GET /exec/default/reader/main?command=true', { headers: upgrade });
    expect((await ask(`POST /run/default/reader/main?cmd=${runArgument}`)).status).not.toBe(404);
    expect((await ask(`GET /nowhere?token=${runArgument}`)).status).toBe(404);

    // A kubelet with an unresponsive proxy to its API server.
    const proxied = join(rig.workspace.dir, 'proxied.kubeconfig');
    writeFileSync(
      proxied,
      readFileSync(cluster.kubeconfig, 'utf8').replace(
        /https:\/\/127\.0\.0\.1:\d+/,
        'https://api.invalid:6443',
      ),
      { mode: 0o600 },
    );
    const other = rig.newKubelet({
      name: 'proxied',
      nodeName: 'node2',
      verbosity: 10,
      flags: [`--kubeconfig=${proxied}`],
      env: { HTTPS_PROXY: `http://ann:${proxyPassword}@127.0.0.1:1`, NO_PROXY: '' },
    });
    canaries.add('basic auth of the proxy', `ann:${proxyPassword}`);
    await other.start();
    await other.log.waitForLine(/ECONNREFUSED|connection refused/, { timeoutMs: patienceMs });

    // Secrets that were generated meanwhile.
    const podsDir = join(kubelet.rootDir, 'pods');
    const uid = cluster.pod('reader')?.metadata?.uid ?? '';
    const token = readFileSync(join(podsDir, uid, 'volumes/kubernetes.io~projected/p/token'), 'utf8');
    canaries.add('service account token', token);
    for (const name of readdirSync(kubelet.certDir)) {
      const text = readFileSync(join(kubelet.certDir, name), 'utf8');
      const lines =
        text
          .split(/-----[^-]*PRIVATE KEY-----/)[1]
          ?.trim()
          .split('\n') ?? [];
      for (const line of lines.slice(1, -1)) canaries.add(`private key in ${name}`, line.trim());
    }

    const leaks: Leak[] = [];
    const paths = ['/pods', '/explain', '/stats/summary', '/metrics', '/metrics/probes', '/metrics/cadvisor'];
    for (const path of paths) {
      const { text } = await kubelet.get(kubelet.readOnlyPort, path).then(async (response) => ({
        text: await response.text(),
      }));
      leaks.push(...canaries.search(`10255${path}`, text, path === '/pods' ? inSpecs : []));
    }
    const pprof = ['', 'cmdline', 'goroutine', 'profile?seconds=1', 'allocs?seconds=1', 'heap'];
    for (const path of [
      ...paths,
      '/explain/history',
      '/configz',
      '/flagz',
      '/statusz',
      '/runningpods/',
      '/metrics/resource',
      '/metrics/slis',
      '/healthz?verbose',
      ...pprof.map((name) => `/debug/pprof/${name}`),
    ]) {
      const { cert, key } = cluster.admin;
      const { status, text } = await ask(`GET ${path}`, { cert, key, headers: { accept: '*/*' } });
      expect([path, status]).toEqual([path, path.endsWith('heap') ? 404 : 200]);
      leaks.push(...canaries.search(`10250${path}`, text, path === '/pods' ? inSpecs : []));
    }
    const { objects } = cluster.double;
    for (const kind of ['events', 'nodes', 'leases', 'certificatesigningrequests', 'csinodes'] as const)
      leaks.push(...canaries.search(kind, JSON.stringify(objects.list(kind))));
    for (const { metadata, status } of objects.list('pods'))
      leaks.push(...canaries.search(`status of ${metadata?.name}`, JSON.stringify({ metadata, status })));
    // Allowed places: the volumes of the pod that uses them, the kubelet's keys, the administrator's own file.
    const allowed = [kubelet.certDir, join(kubelet.rootDir, 'config.json'), other.certDir];
    const isVolume = (path: string): boolean =>
      /\/pods\/[^/]+\/volumes\/kubernetes\.io~(secret|projected)$/.test(path);
    for (const { dir } of [kubelet, other])
      leaks.push(...canaries.searchFiles(dir, (path) => allowed.includes(path) || isVolume(path)));
    expect(leaks).toEqual([]);
    // Verifies the search: without the exception it finds the values in the volumes.
    expect(canaries.searchFiles(podsDir, () => false).map(({ canary }) => canary)).toEqual(
      expect.arrayContaining(['Secret as volume', 'Secret as projected volume', 'service account token']),
    );
  });
});
