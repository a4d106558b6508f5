// The configuration of the rig's containerd: format 2 for containerd 1.x, format 3 from 2.0 on.
// Invariant: all state is in the directories of the rig, and nothing is shared with other containerds of the machine.
import type { ContainerdPaths } from './containerd.ts';
import { cniPluginFolder } from './prerequisites.ts';

interface ConfigInput {
  /** The output of `containerd --version`. */
  readonly version: string;
  readonly paths: ContainerdPaths;
  readonly sandboxImage: string;
  readonly snapshotter: string;
}

/** Of `containerd github.com/containerd/containerd/v2 2.1.9+unknown`. */
function majorOf(version: string): number {
  const number = version.split(' ')[2] ?? '';
  return Number(number.replace(/^v/, '').split('.')[0]);
}

export function configText(input: ConfigInput): string {
  return majorOf(input.version) >= 2 ? format3(input) : format2(input);
}

// The plugin opt would create /opt/containerd; the snapshotters do not work here or are not used.
const disabled = [
  'internal.v1.opt',
  'snapshotter.v1.aufs',
  'snapshotter.v1.blockfile',
  'snapshotter.v1.btrfs',
  'snapshotter.v1.devmapper',
  'snapshotter.v1.erofs',
  'snapshotter.v1.zfs',
];

function common(format: number, { paths }: ConfigInput): string {
  return `version = ${format}
root = "${paths.root}"
state = "${paths.state}"
disabled_plugins = [${disabled.map((name) => `"io.containerd.${name}"`).join(', ')}]
[grpc]
  address = "${paths.socket}"
[plugins."io.containerd.nri.v1.nri"]
  disable = true
`;
}

function format2(input: ConfigInput): string {
  const { paths, sandboxImage, snapshotter } = input;
  const cri = 'plugins."io.containerd.grpc.v1.cri"';
  return `${common(2, input)}[${cri}]
  sandbox_image = "${sandboxImage}"
  restrict_oom_score_adj = true
  netns_mounts_under_state_dir = true
  [${cri}.cni]
    bin_dir = "${cniPluginFolder()}"
    conf_dir = "${paths.cni}"
  [${cri}.registry]
    config_path = "${paths.hosts}"
  [${cri}.containerd]
    snapshotter = "${snapshotter}"
    [${cri}.containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      [${cri}.containerd.runtimes.runc.options]
        Root = "${paths.state}/runc"
`;
}

// As format 2 above. The defaults of 2.x that change what pods see are set back to those of 1.x, so that one suite fits
// both: CDI, and sysctls for unprivileged ports and ping, which sandboxes of 1.x do not have.
function format3(input: ConfigInput): string {
  const { paths, sandboxImage, snapshotter } = input;
  const images = 'plugins."io.containerd.cri.v1.images"';
  const runtime = 'plugins."io.containerd.cri.v1.runtime"';
  return `${common(3, input)}[${images}]
  snapshotter = "${snapshotter}"
  [${images}.pinned_images]
    sandbox = "${sandboxImage}"
  [${images}.registry]
    config_path = "${paths.hosts}"
[${runtime}]
  restrict_oom_score_adj = true
  netns_mounts_under_state_dir = true
  enable_unprivileged_ports = false
  enable_unprivileged_icmp = false
  enable_cdi = false
  [${runtime}.cni]
    bin_dirs = ["${cniPluginFolder()}"]
    conf_dir = "${paths.cni}"
  [${runtime}.containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [${runtime}.containerd.runtimes.runc.options]
      Root = "${paths.state}/runc"
`;
}
