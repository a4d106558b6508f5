import { describe, expect, test } from 'vitest';
import { aContainer, aPod, type PodOver } from '../../../test/builders/builders.ts';
import { FakeClock } from '../../../test/fakes/fake-clock.ts';
import type { Container } from '../../api/k8s/types.ts';
import type { PodVolumes } from '../../api/pod/pod-volumes.ts';
import { noGrants } from '../../api/ports/exclusive-resources.ts';
import type { PodObjects } from '../../api/ports/pod-objects.ts';
import { KubeletError } from '../../base/errors.ts';
import { silentLogger } from '../../base/log/log.ts';
import type { PodConfigSettings } from '../sandbox/sandbox-config.ts';
import { containerOptions, messageMount } from './container-options.ts';

const { signal } = new AbortController();
const noServices = { services: async () => [] } as unknown as PodObjects;
const noVolumes: PodVolumes = {
  extraGroups: () => [],
  mount: async () => undefined,
  containerMounts: async () => ({ mounts: [], devices: [] }),
  unmount: async () => undefined,
  readFile: async () => ({ hostPath: '', data: undefined }),
};

class Rig {
  readonly clock = new FakeClock(0);
  readonly disk = new Map<string, string>([['/etc/hosts', '127.0.0.1 node\n']]);
  readonly written: string[] = [];
  readonly modes = new Map<string, number>();
  objects = noServices;
  volumes = noVolumes;
  grants = noGrants;

  async options(container: Container, pod: PodOver = {}, podIps: readonly string[] = ['10.0.0.1']) {
    const files = {
      makeDirectory: async () => false,
      readText: async (path: string) => this.disk.get(path) ?? '',
      writeText: async (path: string, text: string, mode: number) => {
        if (this.disk.get(path) !== text) this.written.push(path);
        this.disk.set(path, text);
        this.modes.set(path, mode);
      },
    };
    const settings = {
      rootDir: '/r',
      dns: { clusterDomain: 'cluster.local' },
      gates: { HostnameOverride: false },
      hostIps: () => ['192.0.2.2'],
      allocatable: () => ({}),
      selinux: false,
    } as unknown as PodConfigSettings;
    const deps = {
      clock: this.clock,
      node: { files: files as never, settings },
      inputs: { objects: this.objects, volumes: this.volumes },
      report: { log: silentLogger },
    };
    const input = { pod: aPod({ ...pod, containers: [container] }), container, restartCount: 0, podIps };
    const message = await messageMount(deps.node, input);
    return await containerOptions(
      deps,
      { ...input, message, imageVolumes: new Map(), grants: this.grants },
      signal,
    );
  }
}

const paths = (mounts: readonly { readonly containerPath?: string | undefined }[]): unknown =>
  mounts.map(({ containerPath }) => containerPath);

test('devices of plugins come before those of volumes; the variables of the container win', async () => {
  const rig = new Rig();
  rig.grants = {
    ...noGrants,
    env: new Map([
      ['OWN', 'plugin'],
      ['PLUGIN', 'p'],
    ]),
    mounts: [{ hostPath: '/opt', containerPath: '/m', readOnly: true }],
    devices: [{ hostPath: '/dev/null', containerPath: '/dev/d', permissions: 'rw' }],
  };
  const { devices, env, mounts } = await rig.options(aContainer({ env: [{ name: 'OWN', value: 'c' }] }));
  const text = (name: string) => new TextDecoder().decode(env.get(name));
  expect([text('OWN'), text('PLUGIN')]).toEqual(['c', 'p']);
  expect(devices[0]).toEqual({ hostPath: '/dev/null', containerPath: '/dev/d', permissions: 'rw' });
  expect(mounts[0]).toEqual({ hostPath: '/opt', containerPath: '/m', readonly: true });
});

describe('mounts', () => {
  test('volumes, then the hosts file, then the message file', async () => {
    const rig = new Rig();
    rig.volumes = {
      ...noVolumes,
      containerMounts: async () => ({
        mounts: [{ containerPath: '/v' }],
        devices: [{ containerPath: '/d' }],
      }),
    };
    const { mounts, devices } = await rig.options(aContainer());
    expect(mounts).toEqual([
      { containerPath: '/v' },
      { containerPath: '/etc/hosts', hostPath: '/r/pods/uid-p/etc-hosts', selinuxRelabel: false },
      {
        containerPath: '/dev/termination-log',
        hostPath: expect.stringMatching(/^\/r\/pods\/uid-p\/containers\/c\/[0-9a-f]{8}$/),
        selinuxRelabel: false,
      },
    ]);
    expect(devices).toEqual([{ containerPath: '/d' }]);
    const modeOf = (part: string): unknown => [...rig.modes].find(([path]) => path.includes(part))?.[1];
    expect([modeOf('etc-hosts'), modeOf('/containers/c/')]).toEqual([0o644, 0o666]);
    expect(rig.disk.get('/r/pods/uid-p/etc-hosts')).toContain('\n10.0.0.1\tp\n');
  });
  const own = { volumeMounts: [{ name: 'h', mountPath: '/etc/hosts' }] };
  const cases: readonly (readonly [string, Partial<Container>, PodOver, readonly string[], unknown])[] = [
    ['no hosts file if the container mounts its own', own, {}, ['10.0.0.1'], ['/dev/termination-log']],
    ['no hosts file without an address', {}, {}, [], ['/dev/termination-log']],
    [
      'a hosts file without an address on the host network',
      {},
      { hostNetwork: true },
      [],
      ['/etc/hosts', '/dev/termination-log'],
    ],
    ['no message file without a path', { terminationMessagePath: '' }, {}, [], []],
    ['an absolute message path', { terminationMessagePath: 'a/../b/' }, {}, [], ['/b']],
  ];
  for (const [name, over, pod, ips, want] of cases) {
    test(name, async () =>
      expect(paths((await new Rig().options(aContainer(over), pod, ips)).mounts)).toEqual(want),
    );
  }
  test("the node's hosts file on the host network", async () => {
    const rig = new Rig();
    await rig.options(aContainer(), { hostNetwork: true });
    expect(rig.disk.get('/r/pods/uid-p/etc-hosts')).toBe(
      '# Kubernetes-managed hosts file (host network).\n127.0.0.1 node\n',
    );
  });
  test('containers of a pod share the hosts file; the message file of an earlier instance stays', async () => {
    const rig = new Rig();
    await rig.options(aContainer());
    await rig.options(aContainer({ name: 'd' }));
    expect(rig.written.filter((path) => path.endsWith('etc-hosts'))).toHaveLength(1);
    expect(new Set(rig.written).size).toBe(3);
  });
});

describe('variables in subPathExpr', () => {
  const expandIn = async (text: string): Promise<string> => {
    const rig = new Rig();
    let expanded = '';
    rig.volumes = {
      ...noVolumes,
      containerMounts: async (_pod, _container, { expand }) => {
        expanded = expand(text);
        return { mounts: [], devices: [] };
      },
    };
    const env = [{ name: 'A', value: 'x' }, { name: 'E' }];
    await rig.options(aContainer({ env }));
    return expanded;
  };
  test('are expanded', async () => expect(await expandIn('$(A)/$$(A)')).toBe('x/$(A)'));
  test('must have a value', async () => {
    await expect(expandIn('$(Z)/$(E)/$(A)')).rejects.toThrow('missing value for E, Z');
    await expect(expandIn('$$$(E)')).rejects.toThrow('missing value for E');
  });
  test('expand to at most the length of a path', async () => {
    await expect(expandIn('$(A)'.repeat(5_000))).rejects.toThrow(
      'subPathExpr expands to more than 4096 bytes',
    );
  });
});

describe('services', () => {
  const annotations = { 'kubernetes.io/config.source': 'file' };
  test('a static pod does not wait for an unavailable API server', async () => {
    const rig = new Rig();
    rig.objects = {
      ...noServices,
      services: (abortSignal) =>
        new Promise((_resolve, reject) => {
          abortSignal.addEventListener('abort', () => reject(abortSignal.reason as Error));
        }),
    };
    const options = rig.options(aContainer(), { annotations });
    await rig.clock.advance(100);
    expect((await options).env.size).toBe(0);
  });
  test('an API pod fails with the reason', async () => {
    const rig = new Rig();
    const services = (): never => {
      throw new KubeletError('unavailable', 'NoServices', 'services have not yet been read');
    };
    rig.objects = { ...noServices, services };
    await expect(rig.options(aContainer())).rejects.toThrow('services have not yet been read');
  });
});
