// The images of a rig, built from Debian's static busybox: a pause image and a busybox image.
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { buildImage, goArchitecture, type LayerEntry, type OciImage, ociArchive } from './oci.ts';
import { findProgram } from './prerequisites.ts';
import { mustRun } from './process.ts';
import { repositoryRoot } from './repository.ts';

export const pauseImage = 'rig.local/pause:1';
export const busyboxImage = 'docker.io/library/busybox:1';

/** Increment whenever the images built from the same busybox change. */
const recipe = 3;

/**
 * The init process of a sandbox: waits indefinitely, exits on SIGTERM, and reaps the orphans of containers that share its
 * PID namespace, which `sleep` alone would leave as zombies.
 */
const pauseScript = "trap 'exit 0' TERM INT; while :; do sleep 2147483647 & wait $!; done";

function busyboxPath(): string {
  const path = findProgram('busybox');
  if (path === undefined) throw new Error('busybox not found');
  return path;
}

async function buildPauseImage(): Promise<OciImage> {
  const entries: LayerEntry[] = [
    { path: 'bin', folder: true },
    { path: 'bin/sh', content: readFileSync(busyboxPath()), mode: 0o755 },
    { path: 'bin/sleep', link: 'sh' },
  ];
  return buildImage({ layers: [entries], entrypoint: ['/bin/sh', '-c', pauseScript] });
}

/**
 * For registries. The preloaded image has another ID: once a kubelet has pulled an image, it verifies the credentials for all
 * of its names.
 */
export async function buildBusyboxImage(
  author = 'registry',
  more: readonly LayerEntry[] = [],
): Promise<OciImage> {
  const path = busyboxPath();
  const applets = (await mustRun(path, ['--list']))
    .split('\n')
    .filter((name) => name !== '' && name !== 'busybox');
  const folders = ['bin', 'etc', 'dev', 'home', 'proc', 'root', 'run', 'sys', 'usr', 'var', 'var/log'];
  const entries: LayerEntry[] = [
    ...folders.map((folder) => ({ path: folder, folder: true })),
    { path: 'tmp', folder: true, mode: 0o1777 },
    { path: 'bin/busybox', content: readFileSync(path), mode: 0o755 },
    ...applets.map((applet) => ({ path: `bin/${applet}`, link: 'busybox' })),
    ...['sbin', 'usr/bin', 'usr/sbin'].map((folder) => ({ path: folder, link: '/bin' })),
    {
      path: 'etc/passwd',
      content:
        'root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/home:/bin/false\nmember:x:1000:1000::/home:/bin/sh\n',
    },
    { path: 'etc/group', content: 'root:x:0:\nnogroup:x:65534:\nteam:x:50000:member\n' },
    ...more,
  ];
  return buildImage({ layers: [entries], command: ['sh'], author });
}

/** The path of an archive with both images, built once and cached for the same busybox and recipe. */
export async function rigArchive(): Promise<string> {
  const hash = createHash('sha256').update(readFileSync(busyboxPath())).update(`${recipe} ${goArchitecture}`);
  const file = join(repositoryRoot(), '.cache', 'rig', `images-${hash.digest('hex').slice(0, 16)}.tar`);
  if (existsSync(file)) return file;
  const [pause, busybox] = await Promise.all([buildPauseImage(), buildBusyboxImage('rig')]);
  const bytes = await ociArchive({ [pauseImage]: pause, [busyboxImage]: busybox });
  mkdirSync(dirname(file), { recursive: true });
  const fresh = `${file}.${process.pid}`;
  writeFileSync(fresh, bytes);
  renameSync(fresh, file);
  return file;
}
