import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { kubeconfigText } from '../../test/api-server/kubeconfig-text.ts';
import { FakeClock } from '../../test/fakes/fake-clock.ts';
import { describeError } from '../base/errors.ts';
import { silentLogger } from '../base/log/log.ts';
import { Metrics } from '../base/metrics.ts';
import { defaultGates } from '../config/gates/feature-gates.ts';
import { legacyConfiguration } from '../config/load/complete.ts';
import { defaultsOf } from '../config/schema.ts';
import { kubeletFlags } from '../config/table/kubelet-flags.ts';
import { loadCluster } from './open-cluster.ts';

function input(over: Partial<ReturnType<typeof defaultsOf<typeof kubeletFlags>>>) {
  const flags = { ...defaultsOf(kubeletFlags), ...over };
  return {
    config: legacyConfiguration({}),
    flags,
    gates: defaultGates,
    version: 'v1.37.0',
    nodeName: 'n',
    clock: new FakeClock(),
    random: () => 0.5,
    log: silentLogger,
  };
}

async function failure(over: Parameters<typeof input>[0]): Promise<string> {
  const opened = loadCluster(input(over));
  return await opened.then(() => 'no error', describeError);
}

test('the error names the missing kubeconfig or bootstrap kubeconfig', async () => {
  const kubeconfig = '/nonexistent/kubelet.conf';
  expect(await failure({ kubeconfig })).toMatch(
    /cannot read the kubeconfig \/nonexistent\/kubelet.conf: ENOENT/,
  );
  expect(await failure({ kubeconfig, bootstrapKubeconfig: '/b.conf' })).toMatch(
    /^cannot read the kubeconfig \/b.conf: ENOENT/,
  );
});

test('an API server that does not answer does not prevent the start', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'kubeconfig-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const kubeconfig = join(directory, 'kubelet.conf');
  writeFileSync(kubeconfig, kubeconfigText({ front: { url: 'https://127.0.0.1:9' }, token: 'none' }));
  const open = await loadCluster(input({ kubeconfig }));
  const ignore = (): undefined => undefined;
  const api = open({ request: ignore, responded: ignore, waited: ignore, retried: ignore }, new Metrics());
  api.close();
});
