// The package of `make deb` on a node without Node.js and without a running systemd: what it contains, its installation,
// upgrade and removal, the change from and to the Go kubelet's package, and the packaged kubelet under a running pod.
// integration/vm has the same on a machine with systemd.
import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { NodeStatus, PodStatus } from '../src/api/k8s/types.ts';
import { kubeletVersion } from '../src/config/version.ts';
import type { Kubelet } from './rig/kubelet.ts';
import { commandLine, mustRun } from './rig/process.ts';
import { repositoryRoot } from './rig/repository.ts';
import type { Rig } from './rig/rig.ts';
import { waitFor } from './rig/wait.ts';
import { claimWorkspace } from './rig/workspace.ts';
import { type Cluster, isReady, startCluster } from './support/cluster.ts';
import { type BuiltDeb, buildDeb, buildSmallDeb, debUnavailableReason } from './support/deb.ts';
import { manifest } from './support/manifest.ts';
import { PackageNode } from './support/package-node.ts';

const wants = '/etc/systemd/system/multi-user.target.wants/kubelet.service';
const unit = '/usr/lib/systemd/system/kubelet.service';
const dropIn = '/usr/lib/systemd/system/kubelet.service.d/10-kubeadm.conf';
/** That of the package kubeadm of pkgs.k8s.io, without its comments. */
const kubeadmDropIn = `[Service]
Environment="KUBELET_KUBECONFIG_ARGS=--bootstrap-kubeconfig=/etc/kubernetes/bootstrap-kubelet.conf --kubeconfig=/etc/kubernetes/kubelet.conf"
Environment="KUBELET_CONFIG_ARGS=--config=/var/lib/kubelet/config.yaml"
EnvironmentFile=-/var/lib/kubelet/kubeadm-flags.env
EnvironmentFile=-/etc/default/kubelet
ExecStart=
ExecStart=/usr/bin/kubelet $KUBELET_KUBECONFIG_ARGS $KUBELET_CONFIG_ARGS $KUBELET_KUBEADM_ARGS $KUBELET_EXTRA_ARGS
`;
const installed = 'install ok installed';

const why = debUnavailableReason();

describe.skipIf(why !== undefined)(
  `the Debian package${why === undefined ? '' : ` (skipped: ${why})`}`,
  () => {
    let rig: Rig;
    let node: PackageNode;
    let dir: string;
    let first: BuiltDeb;
    let next: BuiltDeb;

    beforeAll(async () => {
      const workspace = claimWorkspace();
      dir = join(workspace.dir, 'packages');
      mkdirSync(dir);
      node = new PackageNode(workspace);
      await node.start();
      rig = await node.node.startRig();
      first = await buildDeb(join(dir, 'first'));
      next = await buildDeb(join(dir, 'next'), { revision: 2 });
    });
    afterAll(async () => {
      await rig.stop();
      await node.node.stop();
    });

    test("has upstream's paths, belongs to root, and names nothing of the machine that built it", async () => {
      const list = await mustRun('dpkg-deb', ['--contents', first.file]);
      const lines = list
        .trim()
        .split('\n')
        .map((line) => line.split(/\s+/));
      expect(new Set(lines.map(([mode]) => mode))).toEqual(
        new Set(['drwxr-xr-x', '-rw-r--r--', '-rwxr-xr-x']),
      );
      expect(new Set(lines.map(([, owner]) => owner))).toEqual(new Set(['root/root']));
      const programs = lines.filter(([mode]) => mode === '-rwxr-xr-x').map((line) => line.at(-1));
      expect(programs).toEqual(['./usr/bin/kubelet', './usr/lib/kubelet-ts/bin/kubelet']);
      expect(lines.map((line) => line.at(-1))).toEqual(
        expect.arrayContaining([
          `.${unit}`,
          './etc/default/kubelet',
          './etc/kubernetes/manifests/',
          './var/lib/kubelet/',
        ]),
      );
      const unpacked = join(dir, 'unpacked');
      await mustRun('dpkg-deb', ['--raw-extract', first.file, unpacked]);
      const files = readdirSync(unpacked, { recursive: true, withFileTypes: true }).filter((entry) =>
        entry.isFile(),
      );
      const namingTheMachine = files
        .map(({ parentPath, name }) => join(parentPath, name))
        .filter((file) => readFileSync(file).includes(repositoryRoot()));
      expect(namingTheMachine).toEqual([]);
    });

    test('has the same bytes when it is built again, with another umask and time zone', async () => {
      const shell = 'umask 077; export TZ=Pacific/Kiritimati LC_ALL=C.UTF-8;';
      const again = await buildDeb(join(dir, 'again'), { shell });
      expect(readFileSync(again.file).equals(readFileSync(first.file))).toBe(true);
    });

    test('is installed without a running systemd, enables its unit, and runs on its own Node.js', async () => {
      await node.run(`dpkg -i ${first.file}`);
      expect(await node.statusOf('kubelet-ts')).toBe(installed);
      expect(await node.run('kubelet --version; command -v node || echo no node')).toBe(
        `Kubernetes ${kubeletVersion}\nno node\n`,
      );
      expect(await node.run(`readlink -f ${wants}`)).toBe(`${unit}\n`);
      expect(await node.run('dpkg --verify kubelet-ts')).toBe('');
      // The manual page is absent where dpkg excludes documentation.
      expect(await node.run(`systemd-analyze verify --man=no ${unit}`)).toBe('');
    });

    test('starts the service on installation, restarts it once per upgrade, and stops it on removal', async () => {
      const control = async (command: string): Promise<readonly string[]> =>
        node.recordSystemctl(() => node.run(command));
      const acts = (calls: readonly string[]): readonly string[] =>
        calls.map((call) => call.replace(/--(system|quiet) ?/g, '').trim());
      expect(acts(await control(`dpkg -i ${next.file}`))).toEqual([
        'daemon-reload',
        'restart kubelet.service',
      ]);
      expect(acts(await control('dpkg -r kubelet-ts'))).toEqual(['stop kubelet.service', 'daemon-reload']);
      expect(acts(await control('dpkg -P kubelet-ts'))).toEqual([]);
      expect(acts(await control(`dpkg -i ${first.file}`))).toEqual([
        'daemon-reload',
        'start kubelet.service',
      ]);
      // As in a container image that is being built.
      await node.run(
        "printf '#!/bin/sh\\nexit 101\\n' >/usr/sbin/policy-rc.d; chmod 755 /usr/sbin/policy-rc.d",
      );
      expect(acts(await control(`dpkg -i ${next.file}`))).toEqual(['daemon-reload']);
      await node.run('rm /usr/sbin/policy-rc.d');
    });

    test('keeps configuration and data on removal, and data on purge', async () => {
      await node.run(`dpkg -i ${next.file}; ln -sf ${unit} ${wants}`);
      node.node.write('/etc/default/kubelet', 'KUBELET_EXTRA_ARGS=--v=3\n');
      node.node.write('/var/lib/kubelet/config.yaml', '{}');
      await node.run('dpkg -r kubelet-ts');
      expect([unit, '/usr/lib/kubelet-ts', '/usr/bin/kubelet'].filter((path) => node.exists(path))).toEqual(
        [],
      );
      expect(node.read('/etc/default/kubelet')).toContain('--v=3');
      await node.run(`dpkg -i ${first.file}`);
      expect(node.read('/etc/default/kubelet')).toContain('--v=3');
      await node.run('dpkg -P kubelet-ts');
      expect(await node.run(`ls -d /etc/default/kubelet ${wants} || true`)).not.toMatch(/^\//m);
      expect(node.read('/var/lib/kubelet/config.yaml')).toBe('{}');
    });

    test('enables its unit in a minimal image, into which systemd is installed later', async () => {
      await node.run('mv /usr/bin/systemctl /run');
      await node.run(`dpkg -i ${first.file}`);
      await node.run('mv /run/systemctl /usr/bin');
      expect(await node.run(`readlink -f ${wants}; systemctl is-enabled kubelet`)).toBe(`${unit}\nenabled\n`);
      await node.run('dpkg -P kubelet-ts');
      expect(node.exists(wants)).toBe(false);
    });

    test('replaces the package of the Go kubelet under kubeadm, and is replaced by it', async () => {
      const { kubelet, kubeadm } = await buildUpstreamDebs(dir);
      await node.run(`dpkg -i ${kubelet} ${kubeadm}`);
      node.node.write('/etc/default/kubelet', 'KUBELET_EXTRA_ARGS=--v=4\n');
      await node.run(`dpkg -i ${first.file}`);
      expect(await node.statusOf('kubelet')).toMatch(/config-files$/);
      for (const name of ['kubeadm', 'kubelet-ts']) expect(await node.statusOf(name)).toBe(installed);
      expect(await node.run('kubelet --version')).toContain(kubeletVersion);
      expect(node.read(dropIn)).toBe(kubeadmDropIn);
      expect(await node.run(`systemd-analyze verify --man=no ${unit}`)).toBe('');
      // The purge of what is left of the other package changes nothing.
      for (const command of ['true', 'dpkg -P kubelet']) {
        await node.run(command);
        expect(await node.run(`readlink -f ${wants}`)).toBe(`${unit}\n`);
        expect(node.exists('/etc/systemd/system/kubelet.service'), 'masked').toBe(false);
        expect(node.read('/etc/default/kubelet')).toContain('--v=4');
      }
      // As apt does it: upstream's package declares no conflict, so dpkg alone installs neither over the other.
      await node.run(`dpkg -r --force-depends kubelet-ts; dpkg -i ${kubelet}`);
      expect(await node.run('kubelet --version')).toBe('Kubernetes v1.37.0\n');
      await node.run('dpkg -P kubelet-ts');
      expect(await node.statusOf('kubelet')).toBe(installed);
      expect(await node.run(`readlink -f ${wants}`)).toBe(`${unit}\n`);
      expect(node.read('/etc/default/kubelet')).toContain('--v=4');
    });

    test('leaves a unit disabled that the administrator disabled', async () => {
      await node.run(`rm ${wants}; dpkg -i ${first.file}`);
      expect(await node.run(`ls ${wants} || true`)).not.toMatch(/^\//m);
      await node.run(`dpkg -i ${next.file}`);
      expect(await node.run(`ls ${wants} || true`)).not.toMatch(/^\//m);
    });

    test('leaves a unit masked that the administrator masked, with and without systemctl', async () => {
      const mask = '/etc/systemd/system/kubelet.service';
      await node.run(`dpkg -P kubeadm kubelet-ts && ln -s /dev/null ${mask}`);
      const systemctl = '/usr/bin/systemctl';
      const install = `dpkg -i ${first.file}`;
      for (const command of [install, `mv ${systemctl} /run; ${install}; mv /run/systemctl ${systemctl}`]) {
        await node.run(command);
        expect(await node.statusOf('kubelet-ts')).toBe(installed);
        expect(await node.run(`readlink ${mask}`)).toBe('/dev/null\n');
        expect(await node.run(`ls ${wants} || true`)).not.toMatch(/^\//m);
        await node.run('dpkg -P kubelet-ts');
      }
      await node.run(`rm ${mask}`);
    });

    describe('under a running pod', () => {
      let cluster: Cluster;
      let kubelet: Kubelet;
      beforeAll(async () => {
        await node.run(`dpkg -i --force-downgrade ${first.file}`);
        cluster = await startCluster(rig, 'node1');
        kubelet = await rig.kubelet({
          nodeName: 'node1',
          command: node.node.command('kubelet', '/usr/bin/kubelet'),
          flags: [`--kubeconfig=${cluster.kubeconfig}`, `--device-plugin-dir=${dir}/device-plugins`],
        });
        await cluster.untilNodeReady();
      });
      afterAll(async () => {
        await kubelet.stop();
        await cluster.stop();
      });

      test('runs on the Node.js of the package, and is called kubelet', () => {
        const pid = kubelet.pid ?? 0;
        expect(commandLine(pid)[0]).toBe('/usr/lib/kubelet-ts/bin/kubelet');
        expect(readFileSync(`/proc/${pid}/comm`, 'utf8')).toBe('kubelet\n');
      });

      test('is upgraded without restarting a container and without a Ready transition', async () => {
        cluster.createPod(manifest('steady'));
        await cluster.untilReady('steady');
        const facts = (): unknown => {
          const ready = ({ conditions }: PodStatus | NodeStatus): unknown =>
            conditions?.find(({ type }) => type === 'Ready')?.lastTransitionTime;
          const { status: pod = {} } = cluster.pod('steady') ?? {};
          return [ready(pod), pod.containerStatuses, ready(cluster.node()?.status ?? {})];
        };
        const before = facts();
        // The running kubelet does not notice that its files are replaced.
        await node.run(`dpkg -i ${next.file}`);
        expect((await kubelet.healthz()).text).toBe('ok');
        expect(await kubelet.stop()).toEqual({ code: 0, signal: null });
        await kubelet.start();
        const readyAgain = async (): Promise<boolean> =>
          (await kubelet.pods()).some(({ status }) => isReady(status));
        await waitFor(readyAgain, 'the pod to be ready to the next kubelet');
        expect(facts()).toEqual(before);
      });
    });
  },
);

/** Packages with the names, paths and scripts of those of pkgs.k8s.io. */
async function buildUpstreamDebs(
  dir: string,
): Promise<{ readonly kubelet: string; readonly kubeadm: string }> {
  const helper = (action: string): string => `deb-systemd-helper ${action} kubelet.service`;
  const kubelet = await buildSmallDeb(dir, {
    name: 'kubelet',
    version: '1.37.0-1.1',
    files: {
      '/usr/bin/kubelet': '#!/bin/sh\necho Kubernetes v1.37.0\n',
      [unit]: '[Service]\nExecStart=/usr/bin/kubelet\n[Install]\nWantedBy=multi-user.target\n',
      '/etc/default/kubelet': 'KUBELET_EXTRA_ARGS=\n',
    },
    scripts: {
      postinst: `#!/bin/sh\n${helper('unmask')}\nif ${helper('--quiet was-enabled')}; then ${helper('enable')}; fi\n`,
      postrm: `#!/bin/sh\n[ "$1" != remove ] || ${helper('mask')}\n[ "$1" != purge ] || { ${helper('purge')}; ${helper('unmask')}; }\n`,
    },
  });
  const kubeadm = await buildSmallDeb(dir, {
    name: 'kubeadm',
    version: '1.37.0-1.1',
    control: ['Depends: kubelet (>= 1.19.0)'],
    files: { [dropIn]: kubeadmDropIn },
  });
  return { kubelet, kubeadm };
}
