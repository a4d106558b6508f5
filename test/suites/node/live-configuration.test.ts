// Live configuration of whole kubelets in memory: one proof per field that applies without a restart, and what holds for all.
import { describe, expect, test } from 'vitest';
import { KubeletError } from '../../../src/base/errors.ts';
import { Duration } from '../../../src/config/duration.ts';
import { appliesByPath } from '../../../src/config/live/diff.ts';
import { markedSettings } from '../../../src/config/marked-settings.ts';
import { bodyText, httpRequest } from '../../../src/server/fixtures/requests.ts';
import { FakeNode } from '../../simulate/fake-node.ts';
import { connectionProofs } from './live-proofs/connections.ts';
import { evictionProofs } from './live-proofs/eviction.ts';
import { imageProofs } from './live-proofs/images.ts';
import { logProofs } from './live-proofs/logs.ts';
import { loopProofs } from './live-proofs/loops.ts';
import { nodeProofs } from './live-proofs/node.ts';
import { podProofs } from './live-proofs/pods.ts';
import { runPod, startLive } from './live-proofs/rig.ts';
import { shutdownProofs } from './live-proofs/shutdown.ts';

const proofs = {
  ...podProofs,
  ...imageProofs,
  ...evictionProofs,
  ...nodeProofs,
  ...logProofs,
  ...loopProofs,
  ...connectionProofs,
  ...shutdownProofs,
};

describe('a change takes effect without a restart:', () => {
  test.each(Object.entries(proofs))('%s', (_, prove) => prove());

  // A field without effect has none to prove; its proof is due when its mark goes.
  test('there is a proof for exactly the fields that claim it', () => {
    const withoutEffect = new Set(
      markedSettings.filter(({ effect }) => effect.kind !== 'partly').map(({ field }) => field),
    );
    const claimed = [...appliesByPath()]
      .filter(([path, applies]) => applies !== 'restart' && !withoutEffect.has(path))
      .map(([path]) => path);
    expect(Object.keys(proofs).toSorted()).toEqual(claimed.toSorted());
  });
});

async function configz(node: FakeNode): Promise<Record<string, unknown>> {
  const text = await bodyText(await node.request(httpRequest('GET /configz')));
  return (JSON.parse(text) as { kubeletconfig: Record<string, unknown> }).kubeletconfig;
}

test('/configz shows what is in force, which leaves out what waits for a restart', async () => {
  const node = await startLive();
  expect(await configz(node)).toMatchObject({ maxPods: 110, syncFrequency: '1m0s', port: 10250 });
  const { logging } = node.live.current();
  node.reconfigure({ maxPods: 7, port: 1, logging: { ...logging, format: 'json', verbosity: 3 } });
  expect(await configz(node)).toMatchObject({
    maxPods: 7,
    port: 10250,
    logging: { format: 'text', verbosity: 3 },
  });
});

test('the first reaction to a change sees all of its values', async () => {
  const node = await startLive();
  const seen: unknown[] = [];
  node.live.changed.subscribe((path) => {
    const { evictionSoft, evictionSoftGracePeriod } = node.live.view;
    seen.push([path, Object.keys(evictionSoft), Object.keys(evictionSoftGracePeriod)]);
  });
  // A soft threshold without its grace period would be invalid.
  node.reconfigure({
    evictionSoft: { 'memory.available': '1Gi' },
    evictionSoftGracePeriod: { 'memory.available': '1m' },
  });
  const both = [['memory.available'], ['memory.available']];
  expect(seen).toEqual([
    ['evictionSoft', ...both],
    ['evictionSoftGracePeriod', ...both],
  ]);
  await node.clock.advance(60_000);
  expect(node.logged('Uncaught')).toEqual([]);
});

test('a change of every field at once disturbs no pod', async () => {
  const node = await startLive();
  await runPod(node, 'p');
  const calls = node.calls().length;
  const { logging } = node.live.current();
  node.reconfigure({
    clusterDNS: ['10.0.0.9'],
    cpuCFSQuota: false,
    podPidsLimit: 50,
    seccompDefault: true,
    serializeImagePulls: false,
    containerLogMaxSize: '1Mi',
    evictionHard: { 'memory.available': '1Mi' },
    maxPods: 1,
    logging: { ...logging, verbosity: 5 },
  });
  await node.clock.advance(10 * 60_000);
  expect(node.calls().slice(calls)).toEqual([]);
  expect(node.status('uid-p')?.phase).toBe('Running');
});

describe('a configuration on trial', () => {
  const symptoms = (node: FakeNode): readonly unknown[] =>
    node.trial.checks.map((each) => each.check()).filter((problem) => problem !== undefined);

  test('needs an image service, which no health check calls', async () => {
    const node = await startLive();
    await node.clock.advance(5_000);
    expect(symptoms(node)).toEqual([]);
    const down = new KubeletError('unavailable', 'Down', 'connect ENOENT /run/nope.sock');
    node.cri.faults.fail('imageFsInfo', down, { times: Number.POSITIVE_INFINITY });
    symptoms(node);
    await node.clock.advance(1_000);
    expect(symptoms(node)).toEqual(['the image service is unavailable: connect ENOENT /run/nope.sock']);
  });

  test('must fit the machine, with what waits for a restart as it is', async () => {
    const node = await startLive();
    const config = node.live.current();
    expect(node.trial.fault(config)).toBeUndefined();
    expect(node.trial.fault({ ...config, evictionHard: { 'memory.available': '4Ti' } })).toContain(
      'Expected capacity >= reservation',
    );
  });

  test('is not judged while the machine is being shut down', async () => {
    const node = await startLive({ shutdownGracePeriod: Duration.ofMs(60_000) });
    await node.clock.advance(1_000);
    expect(node.trial.isShuttingDown()).toBe(false);
    node.logind.prepare(true);
    await node.clock.advance(100);
    expect(node.trial.isShuttingDown()).toBe(true);
  });
});

test('without live configuration nothing follows the configuration', () => {
  const names = (live: boolean): readonly string[] => {
    const kubelet = new FakeNode({ live }).assembled();
    kubelet.close();
    return kubelet.components.map(({ name }) => name);
  };
  expect(names(true).filter((name) => !names(false).includes(name))).toEqual([
    'live-settings',
    'config-notices',
  ]);
  expect(() => new FakeNode().live).toThrow('not live');
});
