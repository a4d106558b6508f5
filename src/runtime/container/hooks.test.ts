import { describe, expect, test } from 'vitest';
import { aContainer, aPod } from '../../../test/builders/builders.ts';
import { FakeClock } from '../../../test/fakes/fake-clock.ts';
import type { LifecycleHandler } from '../../api/k8s/types.ts';
import type { EventText } from '../../api/ports/events.ts';
import type { PodActivity } from '../../api/ports/pod-activity.ts';
import type { PodHttpRequest } from '../../api/ports/probe-requests.ts';
import { KubeletError } from '../../base/errors.ts';
import { InFlight } from '../../base/in-flight.ts';
import { type HookDeps, hookPort, runHook } from './hooks.ts';

const bytes = (text: string): Buffer => Buffer.from(text);

class Rig {
  readonly counted: string[] = [];
  readonly clock = new FakeClock(0);
  readonly commands: (readonly string[] | undefined)[] = [];
  readonly kept: (number | undefined)[] = [];
  readonly requests: PodHttpRequest[] = [];
  readonly events: EventText[] = [];
  readonly activities = new InFlight<PodActivity>();
  answer = { exitCode: 0, stdout: bytes(''), stderr: bytes('') };
  plainOnly = false;

  async run(handler: LifecycleHandler, podIp?: string, signal = new AbortController().signal): Promise<void> {
    const deps: HookDeps = {
      clock: this.clock,
      report: { events: { pod: (_pod, event) => void this.events.push(event), node: () => undefined } },
      cri: {
        execSync: async ({ cmd }, options) => {
          this.commands.push(cmd);
          this.kept.push(options?.keepBytes);
          return this.answer;
        },
      },
      hooks: {
        running: this.activities,
        metrics: {
          fellBackToHttp: () => void this.counted.push('fallback'),
          sleepCutShort: () => void this.counted.push('cut'),
        },
        http: async (request) => {
          this.requests.push(request);
          if (this.plainOnly && request.scheme === 'https')
            throw new KubeletError('invalid', 'HttpInsteadOfTls', 'plain');
        },
      },
    };
    const container = aContainer({ ports: [{ name: 'web', containerPort: 8080 }] });
    await runHook(
      deps,
      { pod: aPod(), container, containerId: 'id', handler, podIp, when: 'postStart' },
      signal,
    );
  }
}

describe('exec', () => {
  test('runs a command', async () => {
    const rig = new Rig();
    await rig.run({ exec: { command: ['sh', '-c', 'true'] } });
    expect(rig.commands).toEqual([['sh', '-c', 'true']]);
  });
  test('fails with the exit code and the output of the command', async () => {
    const rig = new Rig();
    rig.answer = { exitCode: 3, stdout: bytes('out\n'), stderr: bytes('err') };
    await expect(rig.run({ exec: { command: ['sh', '-c', 'x'] } })).rejects.toThrow(
      'Exec lifecycle hook ([sh -c x]) for Container "c" in Pod "p_default(uid-p)" failed - error: ' +
        'command \'sh -c x\' exited with 3: err, message: "out\\nerr"',
    );
  });
  test('reads only the beginning of a long output', async () => {
    const rig = new Rig();
    rig.answer = { exitCode: 1, stdout: bytes('o'.repeat(1_000_000)), stderr: bytes(' '.repeat(1_000_000)) };
    const err: unknown = await rig.run({ exec: { command: ['x'] } }).catch((reason: unknown) => reason);
    expect(String(err).length).toBeLessThan(100_000);
    expect(rig.kept).toEqual([16_384]);
  });
});

describe('httpGet', () => {
  test('requests the pod address, with the port looked up by name', async () => {
    const rig = new Rig();
    await rig.run(
      { httpGet: { port: 'web', path: 'x?y=1', httpHeaders: [{ name: 'A', value: 'b' }] } },
      '10.0.0.1',
    );
    const headers = [
      ['A', 'b'],
      ['User-Agent', 'kube-lifecycle/1.37'],
      ['Accept', '*/*'],
    ];
    expect(rig.requests).toEqual([{ scheme: 'http', host: '10.0.0.1', port: 8080, path: 'x?y=1', headers }]);
  });
  test('requests the given host, and omits an empty Accept header', async () => {
    const rig = new Rig();
    const httpHeaders = [
      { name: 'Accept', value: '' },
      { name: 'User-Agent', value: 'me' },
    ];
    await rig.run({ httpGet: { host: '::1', port: 81, path: '/', httpHeaders } });
    expect(rig.requests).toEqual([
      { scheme: 'http', host: '::1', port: 81, path: '/', headers: [['User-Agent', 'me']] },
    ]);
  });
  test('repeats a TLS request without credentials when the server speaks plain HTTP', async () => {
    const rig = new Rig();
    rig.plainOnly = true;
    const httpHeaders = [{ name: 'Authorization', value: 'Bearer x' }];
    await rig.run({ httpGet: { scheme: 'HTTPS', port: 443, httpHeaders } }, '10.0.0.1');
    expect(rig.requests.map(({ scheme, headers }) => [scheme, headers[0]?.[0]])).toEqual([
      ['https', 'Authorization'],
      ['http', 'User-Agent'],
    ]);
    expect(rig.events.map(({ reason }) => reason)).toEqual(['LifecycleHTTPFallback']);
    expect(rig.counted).toEqual(['fallback']);
  });
  test('fails without an address', async () => {
    await expect(new Rig().run({ httpGet: { port: 80, path: '/a' } })).rejects.toThrow(
      'HTTP lifecycle hook (/a) for Container "c" in Pod "p_default(uid-p)" failed - error: failed to find networking container',
    );
  });
});

test('sleeps for the given time unless aborted', async () => {
  const rig = new Rig();
  let done = false;
  void rig.run({ sleep: { seconds: 5 } }).then(() => (done = true));
  await rig.clock.advance(4_999);
  expect(done).toBe(false);
  await rig.clock.advance(1);
  expect(done).toBe(true);
  const stop = new AbortController();
  const cut = rig.run({ sleep: { seconds: 5 } }, undefined, stop.signal);
  stop.abort(new Error('enough'));
  expect(rig.counted).toEqual([]);
  await expect(cut).rejects.toThrow('enough');
  expect(rig.counted).toEqual(['cut']);
});

test('rejects a tcpSocket handler', async () => {
  await expect(new Rig().run({ tcpSocket: { port: 1 } })).rejects.toThrow(
    'Cannot run handler: invalid handler',
  );
});

describe('hookPort', () => {
  const container = aContainer({ ports: [{ name: 'web', containerPort: 8080 }] });
  const cases: readonly (readonly [number | string, number | string])[] = [
    [80, 80],
    ['web', 8080],
    ['81', 81],
    ['other', 'invalid syntax'],
    [0, 'invalid port number: 0'],
    [65_536, 'invalid port number: 65536'],
  ];
  for (const [port, want] of cases) {
    test(String(port), () => {
      if (typeof want === 'number') expect(hookPort(port, container)).toBe(want);
      else expect(() => hookPort(port, container)).toThrow(want);
    });
  }
});

test('reports a hook as an activity while it runs', async () => {
  const scene = new Rig();
  const done = scene.run({ sleep: { seconds: 5 } });
  await scene.clock.advance(1_000);
  expect(scene.activities.activities('uid-p')).toEqual([
    { what: 'the postStart hook of container c runs', sinceMs: 0 },
  ]);
  await scene.clock.advance(4_000);
  await done;
  expect(scene.activities.activities('uid-p')).toEqual([]);
});
