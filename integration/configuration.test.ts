// The effective configuration of the built command, at /configz and in the log.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { Kubelet, KubeletOptions } from './rig/kubelet.ts';
import { describeOnRig } from './rig/on-rig.ts';
import { type Rig, startRig } from './rig/rig.ts';

describeOnRig('effective configuration', () => {
  let rig: Rig;
  let kubelet: Kubelet;
  let count = 0;

  beforeAll(async () => {
    rig = await startRig();
  });
  afterAll(() => rig.stop());
  afterEach(async () => {
    if (kubelet.running) expect(await kubelet.stop()).toEqual({ code: 0, signal: null });
  });

  const launch = async (options: KubeletOptions): Promise<void> => {
    count += 1;
    kubelet = await rig.kubelet({ name: `k${count}`, ...options });
  };

  test('/configz has the values of the file, overridden by flags, with defaults and normalised durations', async () => {
    const config = {
      syncFrequency: '120s',
      fileCheckFrequency: '1h',
      nodeStatusUpdateFrequency: '0s',
      evictionHard: { 'memory.available': '5%' },
      featureGates: { ImageVolume: true },
      clusterDNS: ['10.0.0.53'],
      maxPods: 7,
      logging: { format: 'text', verbosity: 1 },
    };
    await launch({
      config,
      flags: ['--cluster-domain=unit.example', '--http-check-frequency=1500ms'],
    });
    const { text } = await kubelet.secure('/configz');
    const { kubeletconfig, ...more } = JSON.parse(text) as {
      readonly kubeletconfig: Record<string, unknown>;
    };
    expect(more).toEqual({});
    const file = JSON.parse(readFileSync(join(kubelet.dir, 'config.json'), 'utf8')) as Record<
      string,
      unknown
    >;
    const { apiVersion, kind, ...fileValues } = file;
    expect(apiVersion).toBe('kubelet.config.k8s.io/v1beta1');
    expect(kind).toBe('KubeletConfiguration');
    expect(kubeletconfig).toMatchObject({
      ...fileValues,
      syncFrequency: '2m0s',
      fileCheckFrequency: '1h0m0s',
      nodeStatusUpdateFrequency: '10s',
      httpCheckFrequency: '1.5s',
      clusterDomain: 'unit.example',
      staticPodPath: kubelet.manifestDir,
      containerRuntimeEndpoint: rig.endpoint,
      logging: { format: 'text', verbosity: 2, flushFrequency: '5s' },
    });
    expect(kubeletconfig['evictionHard']).toEqual({ 'memory.available': '5%' });
  });

  test('logs the effective configuration once, without the values of headers', async () => {
    const flags = [
      '--manifest-url=http://user:hush@127.0.0.1:1/pods?key=hush',
      '--manifest-url-header=X-Key:hush,Authorization:Bearer hush',
    ];
    await launch({ verbosity: 0, flags });
    const [, logged = '', ...others] = kubelet.log.text().split('"Effective KubeletConfiguration"');
    expect(others).toEqual([]);
    const [text = ''] = logged.split('\n >');
    for (const words of [
      'staticPodURLHeader',
      'X-Key',
      'Authorization',
      '<masked>',
      '127.0.0.1:1/pods',
      '1m0s',
    ])
      expect(text).toContain(words);
    await kubelet.log.waitForLine(/Failed to read pods from URL/);
    const configz = (await kubelet.secure('/configz')).text;
    expect(configz).toContain('X-Key');
    expect(configz).not.toContain('Bearer');
    expect(await kubelet.stop()).toEqual({ code: 0, signal: null });
    expect(kubelet.log.text()).not.toContain('hush');
  });
});
