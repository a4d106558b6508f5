// The files of CSI volumes below the root directory of a kubelet, where upstream has them.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Pod } from '../../src/api/k8s/types.ts';
import { sha256 } from '../../src/volumes/csi/names.ts';
import { loopDevicesOf, mountsBelow } from '../rig/mounts.ts';
import { testDriver } from './csi-driver.ts';

export class CsiFiles {
  readonly rootDir: string;

  constructor(rootDir: string) {
    this.rootDir = rootDir;
  }

  /** The directory of the plugin that the volume is staged in: `globalmount` and `vol_data.json`. */
  stagingDir(handle: string, driver = testDriver): string {
    return join(this.rootDir, 'plugins/kubernetes.io/csi', driver, sha256(handle));
  }

  /** The directory of a pod's volume: `mount` and `vol_data.json`. `name` is that of the persistent volume, or of an inline one. */
  volumeDir({ metadata }: Pod, name: string): string {
    return join(this.rootDir, 'pods', metadata?.uid ?? '', 'volumes/kubernetes.io~csi', name);
  }

  /** The directory of all block volumes: `staging`, `publish`, and one per persistent volume. */
  get blockDir(): string {
    return join(this.rootDir, 'plugins/kubernetes.io/csi/volumeDevices');
  }

  /** The path of a pod's device, a symbolic link. */
  deviceLink({ metadata }: Pod, name: string): string {
    return join(this.rootDir, 'pods', metadata?.uid ?? '', 'volumeDevices/kubernetes.io~csi', name);
  }

  /** vol_data.json of a directory. */
  volData(dir: string): Readonly<Record<string, string>> {
    return JSON.parse(readFileSync(join(dir, 'vol_data.json'), 'utf8')) as Readonly<Record<string, string>>;
  }

  /** What is left of CSI volumes on this node while no pod has any: mounts, loop devices of the kubelet, directories. */
  leftoversOnDisk(): readonly string[] {
    const { rootDir } = this;
    const csi = join(rootDir, 'plugins/kubernetes.io/csi');
    const volumes = namesIn(csi).flatMap((driver) =>
      driver === 'volumeDevices'
        ? namesIn(this.blockDir).flatMap((name) =>
            name === 'staging' || name === 'publish'
              ? namesIn(join(this.blockDir, name)).map((each) => join(name, each))
              : [name],
          )
        : namesIn(join(csi, driver)).map((each) => join(driver, each)),
    );
    const pods = namesIn(join(rootDir, 'pods')).flatMap((uid) =>
      ['volumes', 'volumeDevices'].flatMap((kind) =>
        namesIn(join(rootDir, 'pods', uid, kind, 'kubernetes.io~csi')).map((name) => join(uid, kind, name)),
      ),
    );
    return [...volumes, ...pods, ...mountsBelow(csi), ...loopDevicesOf(rootDir)];
  }
}

function namesIn(dir: string): readonly string[] {
  return existsSync(dir) ? readdirSync(dir) : [];
}
