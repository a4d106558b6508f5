// The files of a node that kubeadm has joined: the drop-in of its package, the configuration and the kubeconfig.
import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import type { Rig } from '../rig/rig.ts';
import type { Cluster } from '../support/cluster.ts';
import { run } from './systemd.ts';

interface NodeFiles {
  readonly cluster: Cluster;
  readonly rig: Rig;
  readonly shutdownSeconds: { readonly all: number; readonly critical: number };
}

/** As in the package kubeadm of pkgs.k8s.io. */
const dropIn = `[Service]
Environment="KUBELET_KUBECONFIG_ARGS=--bootstrap-kubeconfig=/etc/kubernetes/bootstrap-kubelet.conf --kubeconfig=/etc/kubernetes/kubelet.conf"
Environment="KUBELET_CONFIG_ARGS=--config=/var/lib/kubelet/config.yaml"
EnvironmentFile=-/var/lib/kubelet/kubeadm-flags.env
EnvironmentFile=-/etc/default/kubelet
ExecStart=
ExecStart=/usr/bin/kubelet $KUBELET_KUBECONFIG_ARGS $KUBELET_CONFIG_ARGS $KUBELET_KUBEADM_ARGS $KUBELET_EXTRA_ARGS
`;

export function configureNode({ cluster, rig, shutdownSeconds }: NodeFiles): void {
  for (const dir of [
    '/usr/lib/systemd/system/kubelet.service.d',
    '/etc/kubernetes/manifests',
    '/var/lib/kubelet',
  ])
    mkdirSync(dir, { recursive: true });
  writeFileSync('/usr/lib/systemd/system/kubelet.service.d/10-kubeadm.conf', dropIn);
  cpSync(cluster.kubeconfig, '/etc/kubernetes/kubelet.conf');
  const config = {
    apiVersion: 'kubelet.config.k8s.io/v1beta1',
    kind: 'KubeletConfiguration',
    containerRuntimeEndpoint: rig.endpoint,
    cgroupDriver: 'cgroupfs',
    staticPodPath: '/etc/kubernetes/manifests',
    failSwapOn: false,
    evictionHard: { 'memory.available': '50Mi' },
    imageGCHighThresholdPercent: 100,
    nodeStatusUpdateFrequency: '10s',
    nodeStatusReportFrequency: '10s',
    shutdownGracePeriod: `${shutdownSeconds.all}s`,
    shutdownGracePeriodCriticalPods: `${shutdownSeconds.critical}s`,
    ...cluster.kubeletConfig,
  };
  // JSON is YAML.
  writeFileSync('/var/lib/kubelet/config.yaml', JSON.stringify(config));
  writeFileSync(
    '/var/lib/kubelet/kubeadm-flags.env',
    `KUBELET_KUBEADM_ARGS="--hostname-override=${cluster.nodeName}"\n`,
  );
  writeFileSync('/etc/default/kubelet', 'KUBELET_EXTRA_ARGS=--v=2\n');
}

/** The end of the journal of the service. */
export function kubeletLog(): Promise<string> {
  return run('journalctl', '--no-pager', '--unit=kubelet', '--lines=60', '--output=cat');
}
