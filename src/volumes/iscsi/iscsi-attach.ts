// Attaches a LUN: logs in to every portal of its target, scans for the LUN and waits for its devices.
// Upstream: AttachDisk in pkg/volume/iscsi/iscsi_util.go.
// Invariants: idempotent, completes what an interrupted call began; only the volume's own LUN is scanned for.
import type { HostDevices, HostPrograms } from '../../api/ports/host-programs.ts';
import type { Clock } from '../../base/clock.ts';
import { describeError } from '../../base/errors.ts';
import type { Logger } from '../../base/log/log.ts';
import { findMultipath } from '../scsi/block-devices.ts';
import { cloneIface, transportOf } from './iscsi-iface.ts';
import { type ChapSecret, logIn } from './iscsi-login.ts';
import { portalHosts } from './iscsi-sysfs.ts';
import type { IscsiTarget } from './iscsi-target.ts';
import { failed, Iscsiadm } from './iscsiadm.ts';

export interface IscsiDeps {
  readonly programs: HostPrograms;
  readonly devices: HostDevices;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Rounds over all portals; two paths are enough for a multipath device after the second one. */
const maxRounds = 5;
const roundsForAll = 2;
const enoughPaths = 2;
const deviceTries = 30;
const multipathTries = 10;
const retryMs = 1_000;

/** Returns the path of the device. The caller holds the lock of the target. */
export async function attachIscsi(
  deps: IscsiDeps,
  target: IscsiTarget,
  secret: ChapSecret,
  signal: AbortSignal,
): Promise<string> {
  const admin = new Iscsiadm(deps.programs, signal);
  const transport = await transportOf(admin, target);
  // The settings of an interface must not change while it has sessions.
  const isCloned = target.initiatorName !== '';
  if (isCloned && (await portalHosts(deps.devices, target)).size === 0) await cloneIface(admin, target);
  const paths = await new PathSearch({ deps, admin, target, secret, transport }, signal).run();
  const tries = target.portals.length > 1 ? multipathTries : 1;
  return (await waitForMultipath(deps, paths, tries, signal)) ?? paths[0] ?? '';
}

interface SearchInput {
  readonly deps: IscsiDeps;
  readonly admin: Iscsiadm;
  readonly target: IscsiTarget;
  readonly secret: ChapSecret;
  readonly transport: string;
}

/** The search for the devices of a LUN, one per portal. */
class PathSearch {
  readonly #input: SearchInput;
  readonly #signal: AbortSignal;
  /** By portal. */
  readonly #paths = new Map<string, string>();
  #lastError = '<nil>';

  constructor(input: SearchInput, signal: AbortSignal) {
    this.#input = input;
    this.#signal = signal;
  }

  async run(): Promise<readonly string[]> {
    const { admin, deps, target } = this.#input;
    const portals = [...new Set(target.portals)];
    for (let round = 1; round <= maxRounds; round++) {
      const hosts = await portalHosts(deps.devices, target);
      for (const portal of portals) if (!this.#paths.has(portal)) await this.#tryPortal(portal, hosts);
      const found = this.#paths.size;
      if (found === portals.length || (found >= enoughPaths && round >= roundsForAll)) break;
      if (found > 0) continue;
      // differs from upstream, which also deletes an interface that the administrator configured.
      if (target.initiatorName !== '') await admin.run(['-m', 'iface', '-I', target.iface, '-o', 'delete']);
      throw failed(`failed to get any path for iscsi disk, last err seen:\n${this.#lastError}`);
    }
    if (this.#paths.size < portals.length)
      deps.log.warn('Attached iSCSI disk without some of its paths', {
        target: target.iqn,
        paths: this.#paths.size,
        portals: portals.length,
        err: this.#lastError,
      });
    return portals.flatMap((portal) => this.#paths.get(portal) ?? []);
  }

  async #tryPortal(portal: string, hosts: ReadonlyMap<string, number>): Promise<void> {
    const { admin, deps, secret, target, transport } = this.#input;
    const { devices, log } = deps;
    let host = hosts.get(portal);
    if (host === undefined) {
      const failure = await logIn(admin, { target, portal, secret, log });
      if (failure !== undefined) {
        this.#lastError = failure;
        return;
      }
      host = (await portalHosts(devices, target)).get(portal);
      if (host === undefined) {
        this.#lastError = `Could not get SCSI host number for portal ${portal} after logging in`;
        return;
      }
    }
    await devices
      .writeSysfs(`/sys/class/scsi_host/host${host}/scan`, `0 0 ${target.lun}`, this.#signal)
      .catch((err: unknown) => {
        this.#signal.throwIfAborted();
        throw failed(describeError(err));
      });
    const name = deviceLink(target, portal, transport);
    const path = await this.#waitForDevice(name);
    if (path !== undefined) this.#paths.set(portal, path);
    else
      this.#lastError = `Timed out waiting for device at path ${linksDir}/${name.prefix}${name.suffix} after ${deviceTries}s`;
  }

  async #waitForDevice(name: LinkName): Promise<string | undefined> {
    const { clock, devices } = this.#input.deps;
    for (let attempt = 1; attempt <= deviceTries; attempt++) {
      const found = await findLink(devices, name);
      if (found !== undefined) return found;
      if (attempt < deviceTries) await clock.sleep(retryMs, this.#signal);
    }
    return undefined;
  }
}

const linksDir = '/dev/disk/by-path';

/** `*` between the parts if the prefix ends with it. */
interface LinkName {
  readonly prefix: string;
  readonly suffix: string;
}

function deviceLink({ iqn, lun }: IscsiTarget, portal: string, transport: string): LinkName {
  // Names of links have IPv6 addresses without brackets.
  const address = portal.startsWith('[') ? portal.replace('[', '').replace(']', '') : portal;
  const suffix = `ip-${address}-iscsi-${iqn}-lun-${lun}`;
  return transport === 'tcp' ? { prefix: '', suffix } : { prefix: 'pci-*-', suffix };
}

async function findLink(devices: HostDevices, { prefix, suffix }: LinkName): Promise<string | undefined> {
  if (prefix === '') {
    const path = `${linksDir}/${suffix}`;
    return (await devices.exists(path)) ? path : undefined;
  }
  const [name] = (await devices.list(linksDir))
    .filter((each) => each.startsWith('pci-') && each.endsWith(`-${suffix}`))
    .toSorted();
  return name === undefined ? undefined : `${linksDir}/${name}`;
}

async function waitForMultipath(
  { clock, devices }: IscsiDeps,
  paths: readonly string[],
  tries: number,
  signal: AbortSignal,
): Promise<string | undefined> {
  for (let attempt = 1; attempt <= tries; attempt++) {
    for (const path of paths) {
      const found = await findMultipath(devices, path);
      if (found !== undefined) return found;
    }
    if (attempt < tries) await clock.sleep(retryMs, signal);
  }
  return undefined;
}
