// A private node for packages, like a machine with a minimal Debian: without Node.js, and without a running systemd.
// Changes below /usr are in memory, and dpkg knows only what the package depends on.
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { mustRun } from '../rig/process.ts';
import type { RigWorkspace } from '../rig/workspace.ts';
import { PrivateNode } from './private-node.ts';

/** What the package depends on, and the package whose programs its maintainer scripts call. */
const installed = ['libc6', 'libgcc-s1', 'libstdc++6', 'mount', 'init-system-helpers'];

const kubeletFiles = [
  '/usr/bin/kubelet',
  '/usr/lib/kubelet-ts',
  '/usr/lib/systemd/system/kubelet.service',
  '/usr/lib/systemd/system/kubelet.service.d',
  '/etc/default/kubelet',
  '/etc/systemd/system/multi-user.target.wants/kubelet.service',
];

const setUp = `mkdir /run/usr
mount -t tmpfs -o mode=755 tmpfs /run/usr
mkdir /run/usr/upper /run/usr/work
mount -t overlay -o lowerdir=/usr,upperdir=/run/usr/upper,workdir=/run/usr/work overlay /usr
rm -f /usr/bin/node /usr/bin/nodejs /usr/local/bin/node /usr/sbin/policy-rc.d
rm -rf ${kubeletFiles.join(' ')}`;

/** In the place of systemctl while systemd "runs". A unit counts as enabled. */
const recorder = `#!/bin/sh
echo "$*" >>/run/systemctl-calls
case $* in *is-enabled*) echo enabled ;; esac
`;

export class PackageNode {
  readonly node: PrivateNode;

  constructor(workspace: RigWorkspace) {
    this.node = new PrivateNode(workspace, [], { sharesNetwork: true, setUp });
  }

  async start(): Promise<void> {
    const packages = await mustRun('dpkg-query', ['--status', ...installed]);
    const architecture = (await mustRun('dpkg', ['--print-architecture'])).trim();
    await this.node.start();
    this.node.write('/var/lib/dpkg/status', `${packages}\n`);
    mkdirSync(this.node.outside('/var/lib/dpkg/updates'));
    for (const name of installed)
      for (const file of [`${name}.list`, `${name}:${architecture}.list`])
        this.node.write(`/var/lib/dpkg/info/${file}`, '');
  }

  /** Runs a shell command on the node with the PATH of a maintainer script. Returns its output with the errors. */
  run(command: string): Promise<string> {
    const path = 'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
    return this.node.run('env', '-i', path, 'HOME=/root', 'LC_ALL=C', 'sh', '-c', `exec 2>&1; ${command}`);
  }

  /** The state of a package, such as `install ok installed`. */
  async statusOf(name: string): Promise<string> {
    return (await this.run(`dpkg-query --show --showformat='\${Status}' ${name} || true`)).trim();
  }

  exists(path: string): boolean {
    return existsSync(this.node.outside(path));
  }

  read(path: string): string {
    return readFileSync(this.node.outside(path), 'utf8');
  }

  /** Runs `work` as if systemd ran. Returns the calls of systemctl that start, stop or restart units. */
  async recordSystemctl(work: () => Promise<unknown>): Promise<readonly string[]> {
    const calls = '/run/systemctl-calls';
    await this.run(
      'mkdir -p /run/systemd/system; mv /usr/bin/systemctl /run/systemctl; : >/run/systemctl-calls',
    );
    this.node.write('/usr/bin/systemctl', recorder);
    chmodSync(this.node.outside('/usr/bin/systemctl'), 0o755);
    try {
      await work();
      return this.read(calls)
        .split('\n')
        .filter((call) => /\b(start|stop|restart|daemon-reload)\b/.test(call));
    } finally {
      rmSync(this.node.outside('/run/systemd/system'), { recursive: true });
      await this.run('mv /run/systemctl /usr/bin/systemctl');
    }
  }
}
