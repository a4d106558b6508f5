// The unit files and configurations of common distributions work unchanged, with the same effective settings as upstream.
import { expect, test } from 'vitest';
import { loadCommandLine, type Outcome } from './command-line/load-command-line.ts';
import { memoryFiles } from './fixtures/memory-files.ts';
import { eks, k3s, kubeadm, type UnitFile } from './fixtures/unit-files.ts';
import { upstreamVersion } from './version.ts';

async function start({ argv, files }: UnitFile): Promise<Extract<Outcome, { kind: 'run' }>> {
  const outcome = await loadCommandLine({
    argv,
    files: memoryFiles(files),
    host: () => Promise.resolve({ cgroupVersion: 2 }),
  });
  if (outcome.kind !== 'run') throw new Error(outcome.text);
  return outcome;
}

test('kubeadm: zeros in the file mean the defaults, and flags override the file', async () => {
  const { config, flags, warnings } = await start(kubeadm);
  expect({
    endpoint: config.containerRuntimeEndpoint,
    driver: config.cgroupDriver,
    sync: config.syncFrequency.toString(),
    report: config.nodeStatusReportFrequency.toString(),
    flush: config.logging.flushFrequency.toString(),
    anonymous: config.authentication.anonymous.enabled,
    cacheTTL: config.authentication.webhook.cacheTTL.toString(),
    evictions: Object.keys(config.evictionHard).length,
    resolvConf: config.resolvConf,
    kubeconfig: flags.kubeconfig,
    nodeIP: flags.nodeIP,
  }).toEqual({
    endpoint: 'unix:///var/run/containerd/containerd.sock',
    driver: 'systemd',
    sync: '1m0s',
    report: '5m0s',
    flush: '5s',
    anonymous: false,
    cacheTTL: '2m0s',
    evictions: 5,
    resolvConf: '/run/systemd/resolve/resolv.conf',
    kubeconfig: '/etc/kubernetes/kubelet.conf',
    nodeIP: '192.168.1.10',
  });
  expect(warnings.map((line) => line.split(' ')[1])).toEqual([
    '--container-runtime-endpoint',
    '--pod-infra-container-image',
  ]);
});

test('kubeadm: its checks understand --version', async () => {
  // GetKubeletVersion in cmd/kubeadm/app/preflight.
  const pattern =
    /^\s*Kubernetes v((0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*))([-0-9a-zA-Z_.+]*)?\s*$/;
  const outcome = await loadCommandLine({ argv: ['--version'], files: memoryFiles({}) });
  if (outcome.kind !== 'print') throw new Error(outcome.kind);
  expect(pattern.exec(outcome.text)?.[1]).toBe(upstreamVersion.slice(1));
});

test('k3s: drop-ins work without a file, and removed flags warn once and are ignored', async () => {
  const { config, flags, warnings } = await start(k3s);
  expect({
    readOnlyPort: config.readOnlyPort,
    mode: config.authorization.mode,
    evictionHard: config.evictionHard,
    serialize: config.serializeImagePulls,
    hostname: flags.hostnameOverride,
    labels: flags.nodeLabels,
    verbosity: config.logging.verbosity,
    cgroups: [config.kubeletCgroups, flags.runtimeCgroups],
  }).toEqual({
    readOnlyPort: 0,
    mode: 'Webhook',
    evictionHard: { 'imagefs.available': '5%', 'nodefs.available': '5%' },
    serialize: false,
    hostname: 'edge-1',
    labels: {},
    verbosity: 2,
    cgroups: ['/k3s', '/k3s'],
  });
  const removed = warnings.filter((line) => line.includes('was removed')).map((line) => line.split(' ')[1]);
  expect(removed).toEqual(['--containerd', '--cni-bin-dir', '--container-runtime', '--allow-privileged']);
  expect(warnings.filter((line) => line.startsWith('Feature gate'))).toHaveLength(1);
});

test('EKS: drop-ins are merged over the JSON file in order', async () => {
  const { config, gates, credentialProviders, warnings } = await start(eks);
  expect({
    maxPods: config.maxPods,
    kubeReserved: config.kubeReserved,
    clusterDNS: config.clusterDNS,
    evictionHard: config.evictionHard,
    gates: [gates.ImageVolume, gates.RotateKubeletServerCertificate],
    cert: config.tlsCertFile,
    taints: config.registerWithTaints.map(({ key, value, effect }) => `${key}=${value}:${effect}`),
    providers: credentialProviders?.providers.map(({ name }) => name),
    shutdown: config.shutdownGracePeriod.ms,
  }).toEqual({
    maxPods: 110,
    kubeReserved: { cpu: '80m', 'ephemeral-storage': '1Gi', memory: '442Mi' },
    clusterDNS: ['169.254.20.10'],
    evictionHard: { 'memory.available': '5%', 'nodefs.available': '10%', 'nodefs.inodesFree': '5%' },
    gates: [true, true],
    cert: '',
    taints: ['example.com/spot=true:NoSchedule'],
    providers: ['ecr-credential-provider'],
    shutdown: 45_000,
  });
  expect(warnings).toEqual([
    expect.stringContaining('--register-with-taints'),
    expect.stringContaining('ImageVolume=true was set although it is generally available'),
  ]);
});
