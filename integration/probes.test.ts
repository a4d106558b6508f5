// Probes of all four kinds against healthy and faulty servers in real containers.
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Container, Pod, Probe } from '../src/api/k8s/types.ts';
import type { Kubelet } from './rig/kubelet.ts';
import { describeOnRig } from './rig/on-rig.ts';
import { type Rig, startRig } from './rig/rig.ts';
import { waitFor } from './rig/wait.ts';
import { addGrpcImage, grpcImage } from './support/grpc-image.ts';
import { container, exitsOnTerm, manifest } from './support/manifest.ts';
import { containerIdOf, containerStatus } from './support/pod-state.ts';
import { untilNoTraces } from './support/pod-traces.ts';

/** With a long timeout, for busy machines. */
const patient = { periodSeconds: 1, timeoutSeconds: 10 } as const;
const impatient = { periodSeconds: 1, timeoutSeconds: 1, failureThreshold: 1 } as const;

const page = (name: string, script: string): string =>
  `printf '#!/bin/sh\\n%s\\n' "${script}" > /www/cgi-bin/${name}; chmod 755 /www/cgi-bin/${name}`;
/** Faulty servers on ports of one pod. */
const servers = [
  'mkdir -p /www/cgi-bin; echo fine > /www/index.html',
  page('slow', 'sleep 60'),
  page('away', `echo 'Status: 302 Found'; echo 'Location: http://192.0.2.1/'; echo; echo moved`),
  page('home', `echo 'Status: 302 Found'; echo 'Location: /index.html'; echo`),
  page('endless', `echo 'Content-Type: text/plain'; echo; yes`),
  'httpd -p 8080 -h /www',
  // Exits without reading the request, which resets the connection.
  'nc -ll -p 8081 -e /bin/true &',
  `nc -ll -p 8082 -e /bin/echo 'no protocol at all' &`,
  exitsOnTerm,
].join('\n');

const web = (path: string, over: Partial<Probe> = {}): Probe => ({
  httpGet: { path, port: 8080 },
  ...patient,
  ...over,
});
const probed = (name: string, readinessProbe: Probe, over: Partial<Container> = {}): Container =>
  container(name, exitsOnTerm, { readinessProbe, ...over });

describeOnRig('probes', () => {
  let rig: Rig;
  let kubelet: Kubelet;

  beforeAll(async () => {
    rig = await startRig();
    await addGrpcImage(rig);
    kubelet = await rig.kubelet();
  });
  afterAll(() => rig.stop());

  const metrics = async (): Promise<string> =>
    (await kubelet.get(kubelet.readOnlyPort, '/metrics/probes')).text();
  const readyOnes = (pod: Pod): readonly string[] =>
    (pod.status?.containerStatuses ?? []).filter(({ ready }) => ready).map(({ name }) => name);
  const until = (name: string, is: (pod: Pod) => boolean): Promise<Pod> =>
    waitFor(
      async () => {
        const pod = await kubelet.pod(name);
        if (pod !== undefined && is(pod)) return pod;
        throw new Error(`${JSON.stringify(pod?.status)}\n${kubelet.log.lines().slice(-20).join('\n')}`);
      },
      `pod ${name}`,
      90_000,
    );
  /** Waits for an event of this container in the log, since the node has no API server. */
  const untilEvent = (name: string, text: string): Promise<string> =>
    kubelet.log.waitForLine(new RegExp(`Event occurred.*spec\\.containers\\{${name}\\}.*${text}`), {
      timeoutMs: 60_000,
    });

  test('healthy servers make their containers ready by exec, HTTP, TCP and gRPC', async () => {
    const grpc = { port: 9000, service: 'web' };
    const containers: Container[] = [
      container('servers', servers, {
        ports: [{ name: 'web', containerPort: 8080 }],
        startupProbe: { httpGet: { path: '/', port: 'web' }, ...patient, failureThreshold: 60 },
        livenessProbe: { tcpSocket: { port: 'web' }, ...patient, failureThreshold: 30 },
      }),
      probed('exec', { exec: { command: ['sh', '-c', 'true'] }, ...patient }),
      probed('tcp', { tcpSocket: { port: 8080 }, ...patient }),
      probed('http-home', web('/cgi-bin/home')),
      probed('http-endless', web('/cgi-bin/endless')),
      probed('http-away', web('/cgi-bin/away')),
      {
        name: 'grpc',
        image: grpcImage,
        imagePullPolicy: 'Never',
        args: ['9000'],
        readinessProbe: { grpc, ...patient },
      },
    ];
    kubelet.writeManifest('well', manifest('well', { containers }));
    const pod = await until('well', (each) => readyOnes(each).length === containers.length);
    expect(pod.status?.containerStatuses?.map(({ restartCount }) => restartCount)).toEqual(
      containers.map(() => 0),
    );
    await untilEvent('http-away', 'ProbeWarning');
    expect(await metrics()).toMatch(
      /prober_probe_total\{probe_type="Readiness",result="successful",container="grpc",pod="well-/,
    );
    kubelet.removeManifest('well');
    await untilNoTraces(rig, kubelet, pod);
    // Its series are removed with it.
    await waitFor(async () => !(await metrics()).includes('pod="well-'), 'the series to be removed');
  });

  test('faulty servers make only their own containers unready', async () => {
    const failing: Readonly<Record<string, readonly [Probe, string]>> = {
      'exec-fails': [{ exec: { command: ['false'] }, ...impatient }, 'Readiness probe failed'],
      'exec-hangs': [{ exec: { command: ['sleep', '77777'] }, ...impatient }, 'command timed out'],
      'http-slow': [web('/cgi-bin/slow', impatient), 'context deadline exceeded'],
      'http-none': [web('/none', impatient), 'HTTP probe failed with statuscode: 404'],
      'http-reset': [
        { httpGet: { path: '/', port: 8081 }, ...patient },
        '(connection reset by peer|EOF|broken pipe)',
      ],
      'http-garbage': [{ httpGet: { path: '/', port: 8082 }, ...patient }, 'Readiness probe failed'],
      'tcp-refused': [{ tcpSocket: { port: 8099 }, ...impatient }, 'connection refused'],
      'grpc-down': [{ grpc: { port: 9000, service: 'down' }, ...patient }, 'NOT_SERVING'],
      'grpc-plain': [{ grpc: { port: 8080 }, ...impatient }, 'Readiness probe failed'],
    };
    const containers = [
      container('servers', servers),
      { name: 'grpc', image: grpcImage, imagePullPolicy: 'Never', args: ['9000'] },
      ...Object.entries(failing).map(([name, [probe]]) => probed(name, probe)),
    ];
    kubelet.writeManifest('unwell', manifest('unwell', { containers }));
    await Promise.all(
      Object.entries(failing).map(([name, [, text]]) => untilEvent(name, `Unhealthy.*${text}`)),
    );
    const pod = await until('unwell', ({ status }) =>
      (status?.containerStatuses ?? []).every(({ started }) => started === true),
    );
    expect(readyOnes(pod)).toEqual(['grpc', 'servers']);
    // Commands that exceeded their timeout were killed: at most the last one still runs.
    const failures = async (): Promise<number> =>
      Number(/result="failed",container="exec-hangs".* (\d+)/.exec(await metrics())?.[1] ?? 0);
    await waitFor(async () => (await failures()) >= 4, 'several commands to exceed their timeout', 60_000);
    const containerId = containerIdOf(pod, 'exec-hangs');
    const count = async (): Promise<number> => {
      const cmd = ['sh', '-c', "ps | grep -c 'sleep 7777[7]'"];
      const { stdout } = await rig.cri.execSync({ containerId, cmd, timeout: 10 });
      return Number(Buffer.from(stdout).toString());
    };
    await waitFor(async () => (await count()) <= 1, 'the commands to be killed', 60_000);
    kubelet.removeManifest('unwell');
    await untilNoTraces(rig, kubelet, pod);
  });

  test('failed liveness and startup probes restart a container, with an event', async () => {
    const cat = (path: string): Probe => ({
      exec: { command: ['cat', path] },
      ...patient,
      failureThreshold: 2,
    });
    const containers = [
      container('live', `touch /tmp/ok; sleep 3; rm /tmp/ok; ${exitsOnTerm}`, {
        livenessProbe: cat('/tmp/ok'),
      }),
      container('starts', exitsOnTerm, { startupProbe: cat('/none') }),
      container('still', exitsOnTerm),
    ];
    kubelet.writeManifest('restarts', manifest('restarts', { containers }));
    const pod = await until('restarts', (each) =>
      ['live', 'starts'].every((name) => containerStatus(each, name).restartCount > 0),
    );
    expect(containerStatus(pod, 'still').restartCount).toBe(0);
    await untilEvent('live', 'Killing.*Container live failed liveness probe, will be restarted');
    await untilEvent('starts', 'Killing.*Container starts failed startup probe, will be restarted');
    kubelet.removeManifest('restarts');
    await untilNoTraces(rig, kubelet, pod);
  });

  test('ten restarts of the kubelet cause no false readiness transition', async () => {
    const cat: Probe = { exec: { command: ['cat', '/tmp/ok'] }, ...patient };
    const pods: Readonly<Record<string, readonly [Partial<Container>, string]>> = {
      ready: [{ readinessProbe: cat, startupProbe: cat }, 'started ready'],
      unready: [{ readinessProbe: cat }, 'started'],
      starting: [{ startupProbe: { ...cat, failureThreshold: 10_000 }, readinessProbe: cat }, ''],
    };
    const state = async (name: string): Promise<string | undefined> => {
      const status = (await kubelet.pod(name))?.status?.containerStatuses?.[0];
      if (status?.state?.running === undefined) return undefined;
      return [status.started && 'started', status.ready && 'ready'].filter(Boolean).join(' ');
    };
    for (const [name, [over]] of Object.entries(pods)) {
      const script = name === 'ready' ? `touch /tmp/ok; ${exitsOnTerm}` : exitsOnTerm;
      kubelet.writeManifest(name, manifest(name, { containers: [container('main', script, over)] }));
    }
    for (const [name, [, want]] of Object.entries(pods))
      await waitFor(async () => (await state(name)) === want, `pod ${name} to be '${want}'`, 60_000);
    const seen = new Set<string>();
    for (let life = 0; life < 10; life++) {
      await kubelet.stop(life % 2 === 0 ? 'SIGKILL' : 'SIGTERM');
      await kubelet.start({ untilReady: false });
      // Polls until each pod was probed in this run of the kubelet.
      await waitFor(
        async () => {
          for (const name of Object.keys(pods)) {
            const now = await state(name);
            if (now !== undefined) seen.add(`${name}: ${now}`);
          }
          const text = await metrics();
          return Object.keys(pods).every((name) => text.includes(`pod="${name}-`));
        },
        'every pod to be probed',
        60_000,
      );
    }
    expect([...seen].toSorted()).toEqual(
      Object.entries(pods)
        .map(([name, [, want]]) => `${name}: ${want}`)
        .toSorted(),
    );
  }, 300_000);
});
