// Unit files of common distributions start the built kubelet unchanged, with their own paths and ports, on a private
// node; a static pod in their manifest directory runs.
import { chmodSync, existsSync, lstatSync, mkdirSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import { dirname } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { criLabels } from '../src/api/cri/labels.ts';
import { eks, k3s, kubeadm, type UnitFile } from '../src/config/fixtures/unit-files.ts';
import { kubeconfigText, nodeCertificate } from '../test/api-server/kubeconfig-text.ts';
import { TestAuthority } from '../test/api-server/pki.ts';
import { FakeSystemd } from '../test/fakes/fake-systemd.ts';
import { cgroupFolders, processesIn, removeCgroups } from './rig/cgroups.ts';
import { fixedCgroupDriverReason } from './rig/installed-containerd.ts';
import { describeOnRig } from './rig/on-rig.ts';
import type { Rig } from './rig/rig.ts';
import { waitFor } from './rig/wait.ts';
import { claimWorkspace } from './rig/workspace.ts';
import { manifest } from './support/manifest.ts';
import { PrivateNode, type UnitProcess } from './support/private-node.ts';

/** Unit files do not use the rig's cgroup: pods are below this one, at the root of every hierarchy. */
const podCgroup = fixedCgroupDriverReason() === undefined ? '/kubepods.slice' : '/kubepods';

/** The cgroup of the kubelet in the unit file of k3s. */
const kubeletCgroup = '/k3s';

/** Node addresses in the unit files. */
const addresses = ['192.168.1.10/32', '10.0.0.4/32', 'fd00::4/128', '10.0.1.2/32'];

/** Paths of the unit files and of the kubelet's defaults. */
const paths = [
  '/etc/kubernetes',
  '/etc/eks',
  '/run/containerd/containerd.sock',
  '/run/k3s',
  '/run/systemd/resolve',
  '/var/lib/kubelet',
  '/var/lib/rancher',
  '/var/log/containers',
  '/var/log/pods',
];

/** The existing files at these paths on the host. */
function onHost(): readonly (readonly string[])[] {
  return paths.map((path) => (existsSync(path) ? [path, String(lstatSync(path).mtimeMs)] : [path]));
}

describeOnRig('unit files', () => {
  let node: PrivateNode;
  let rig: Rig;
  let kubelet: UnitProcess;
  const systemd = new FakeSystemd();
  const before = onHost();
  const hadPods = cgroupFolders(podCgroup).length > 0;

  beforeAll(async () => {
    const workspace = claimWorkspace();
    node = new PrivateNode(workspace, addresses);
    await node.start();
    rig = await node.startRig();
    // The unit files delegate cgroups to systemd, which this machine may not have.
    mkdirSync(node.outside('/run/systemd'), { recursive: true });
    await systemd.serve(node.outside('/run/systemd/private'));
  });
  afterAll(async () => {
    await rig.stop();
    await node.stop();
    // A machine that runs pods keeps its own.
    if (!hadPods) removeCgroups(podCgroup);
    removeCgroups(kubeletCgroup);
    await systemd.close();
    expect(await rig.leftovers()).toEqual([]);
  });
  afterEach(async () => {
    await kubelet.stop();
    await rig.removeAllPods();
  });

  /** A cluster whose API server is unreachable. */
  const authority = new TestAuthority();
  const unreachable = (nodeName: string): string =>
    kubeconfigText({
      front: { url: 'https://127.0.0.1:9' },
      authority,
      client: nodeCertificate(authority, nodeName),
    });

  /** Links the socket of the rig's containerd at the path of the unit file. */
  const runtimeAt = (path: string): void => {
    mkdirSync(dirname(node.outside(path)), { recursive: true });
    rmSync(node.outside(path), { force: true });
    symlinkSync(rig.containerd.paths.socket, node.outside(path));
  };

  const start = async ({ argv, files }: UnitFile): Promise<void> => {
    for (const [path, text] of Object.entries(files)) node.write(path, text);
    const given = (flag: string): string | undefined =>
      argv.find((arg) => arg.startsWith(`--${flag}=`))?.split('=')[1];
    const nodeName = given('hostname-override') ?? hostname().toLowerCase();
    node.write(given('kubeconfig') ?? '', unreachable(nodeName));
    // The machine may have cgroup v1, which these distributions no longer support.
    kubelet = await node.kubelet([...argv, '--fail-cgroupv1=false']);
    await waitFor(async () => {
      if (!kubelet.running) return 'ended';
      return (await node.get(10248, '/healthz')) === 'ok' && 'healthy';
    }, 'the kubelet to be healthy');
    expect(kubelet.running, kubelet.log.text()).toBe(true);
  };

  /** Waits for the container in the runtime, since the unit files disable the read-only port. */
  const untilRuns = async (podName: string): Promise<{ readonly id: string; readonly uid: string }> =>
    waitFor(async () => {
      const { containers } = await rig.cri.listContainers({
        filter: { labelSelector: { [criLabels.podName]: podName }, state: { state: 1 } },
      });
      return containers.map(({ id, labels }) => ({ id, uid: labels[criLabels.podUid] ?? '' }))[0];
    }, `pod ${podName} to run`);

  const inContainer = async (containerId: string, ...cmd: readonly string[]): Promise<readonly string[]> => {
    const { stdout } = await rig.cri.execSync({ containerId, cmd: [...cmd], timeout: 10n });
    return new TextDecoder().decode(stdout).trim().split('\n');
  };

  const warnings = (): readonly string[] =>
    kubelet.log
      .matching(/^W/)
      .filter(
        (line) =>
          !/step="(OOM score|open files)"|ECONNREFUSED|MemoryQoS has no effect on cgroup v1/.test(line),
      );
  const errors = (): readonly string[] => kubelet.log.matching(/^E/);

  const ends = async (expected: readonly unknown[] = []): Promise<void> => {
    expect(await kubelet.stop()).toEqual({ code: 0, signal: null });
    // Apart from these, only the unreachable API server is reported as an error.
    expect(errors().filter((line) => !line.includes('ECONNREFUSED'))).toEqual(expected);
  };

  test('kubeadm: config.yaml with the flags of its unit and environment files', async () => {
    runtimeAt('/run/containerd/containerd.sock');
    node.write('/etc/kubernetes/pki/ca.crt', authority.cert);
    node.write('/run/systemd/resolve/resolv.conf', 'nameserver 192.0.2.53\nsearch unit.example\n');
    node.write('/etc/kubernetes/manifests/web.json', JSON.stringify(manifest('web')));
    await start(kubeadm);
    const podName = `web-${hostname().toLowerCase()}`;
    const { id, uid } = await untilRuns(podName);
    const slice = `kubepods-besteffort-pod${uid.replaceAll('-', '_')}.slice`;
    expect(systemd.units.has(slice)).toBe(fixedCgroupDriverReason() === undefined);
    expect(readdirSync(node.outside('/var/lib/kubelet/pods'))).toEqual([uid]);
    expect(readdirSync(node.outside('/var/log/pods'))).toEqual([`default_${podName}_${uid}`]);
    // The cluster's DNS first, then the configured resolv.conf.
    expect(await inContainer(id, 'cat', '/etc/resolv.conf')).toEqual([
      'search default.svc.cluster.local svc.cluster.local cluster.local unit.example',
      'nameserver 10.96.0.10',
      'options ndots:5',
    ]);
    // makeIPTablesUtilChains is on by default; the node has a network namespace of its own.
    const rules = await waitFor(async () => {
      const saved = await node.run('iptables-save');
      return saved.includes(':KUBE-KUBELET-CANARY') && saved;
    }, 'the chains of the kubelet');
    for (const line of [':KUBE-IPTABLES-HINT', '-A INPUT -j KUBE-FIREWALL', '-A OUTPUT -j KUBE-FIREWALL'])
      expect(rules).toContain(line);
    await ends();
  });

  test('k3s: a long line of flags, some of them deprecated, with a drop-in directory', async () => {
    runtimeAt('/run/k3s/containerd/containerd.sock');
    node.write('/var/lib/rancher/k3s/agent/pod-manifests/edge.json', JSON.stringify(manifest('edge')));
    const serving = authority.issue({ commonName: 'edge-1', hosts: ['edge-1'], usage: 'server' });
    node.write('/var/lib/rancher/k3s/agent/serving-kubelet.crt', serving.cert);
    node.write('/var/lib/rancher/k3s/agent/serving-kubelet.key', serving.key);
    node.write('/var/lib/rancher/k3s/agent/client-ca.crt', authority.cert);
    await start(k3s);
    await untilRuns('edge-edge-1');
    expect(processesIn(kubeletCgroup)).toHaveLength(1);
    const removed = kubelet.log.matching(/^W.*was removed/).map((line) => /--[a-z-]+/.exec(line)?.[0]);
    expect(removed).toEqual(['--containerd', '--cni-bin-dir', '--container-runtime', '--allow-privileged']);
    await ends();
  });

  test('EKS: a JSON file with drop-ins and a credential provider, without a manifest directory', async () => {
    runtimeAt('/run/containerd/containerd.sock');
    const program = '/etc/eks/image-credential-provider/ecr-credential-provider';
    node.write(program, '#!/bin/sh\n');
    chmodSync(node.outside(program), 0o755);
    node.write('/etc/kubernetes/pki/ca.crt', authority.cert);
    await start(eks);
    expect(warnings()).toEqual([
      expect.stringContaining('--register-with-taints'),
      expect.stringContaining('Feature gate ImageVolume=true was set although it is generally available'),
    ]);
    // It sets shutdownGracePeriod, and the node has no logind.
    await ends([expect.stringContaining('Failed to take the inhibitor lock for shutdowns, will retry')]);
  });

  test('nothing was written on the host', () => {
    expect(onHost()).toEqual(before);
  });
});
