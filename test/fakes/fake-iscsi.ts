// iscsiadm, the initiator and the targets it talks to, in memory: records, sessions, and what sysfs and udev show of them.
// Invariant: answers with iscsiadm's exit codes: 15 for an existing session, 21 for a missing record, 2 for a missing session.
import type { ProgramResult } from '../../src/api/ports/host-programs.ts';
import type { FakeHostDevices, FakeHostPrograms } from './fake-host-programs.ts';

interface Target {
  readonly iqn: string;
  readonly luns: readonly number[];
  readonly user?: string;
  readonly password?: string;
}

interface Session {
  readonly portal: string;
  readonly iqn: string;
  readonly iface: string;
  readonly host: number;
}

type Settings = Map<string, string>;

export class FakeIscsi {
  /** By portal. */
  readonly targets = new Map<string, Target>();
  readonly ifaces = new Map<string, Settings>([['default', new Map([['iface.transport_name', 'tcp']])]]);
  readonly discovery = new Map<string, Settings>();
  readonly nodes = new Map<string, Settings>();
  readonly sessions: Session[] = [];
  /** Whether the paths of a LUN get a multipath device. */
  multipath = false;
  /** Results that replace those of a command line; the command then has no effect. */
  override: (line: string) => Partial<ProgramResult> | Promise<Partial<ProgramResult>> | undefined = () =>
    undefined;
  readonly #devices: FakeHostDevices;
  #hosts = 1;
  #disks = 0;

  constructor(programs: FakeHostPrograms, devices: FakeHostDevices) {
    this.#devices = devices;
    programs.programs.set('iscsiadm', async (args) => {
      const replaced = await this.override(args.join(' '));
      return replaced ?? this.#iscsiadm(args);
    });
    programs.programs.set('multipath', ([, map = '']) => this.#flush(map));
    programs.programs.set('multipathd', () => undefined);
    devices.onWrite = (path, text) => this.#write(path, text);
  }

  #iscsiadm(args: readonly string[]): Partial<ProgramResult> {
    const option = (name: string): string => args[args.indexOf(name) + 1] ?? '';
    const has = (name: string): boolean => args.includes(name);
    const iface = has('-I') ? option('-I') : '*';
    if (option('-m') === 'iface') return this.#iface(iface, option('-o'), [option('-n'), option('-v')]);
    const portal = option('-p');
    if (option('-m') === 'discoverydb') {
      const key = `${portal} ${iface}`;
      if (option('-o') === 'new') this.discovery.set(key, new Map());
      else if (option('-o') === 'delete') this.discovery.delete(key);
      else if (option('-o') === 'update') this.discovery.get(key)?.set(option('-n'), option('-v'));
      else if (has('--discover')) return this.#discover(portal, iface);
      return {};
    }
    return this.#node({ portal, iqn: option('-T'), iface, host: 0 }, args, option);
  }

  #iface(name: string, operation: string, [key, value]: readonly string[]): Partial<ProgramResult> {
    const found = this.ifaces.get(name);
    if (operation === 'new') this.ifaces.set(name, new Map());
    else if (found === undefined) return { code: 21, stderr: 'iscsiadm: Could not read iface\n' };
    else if (operation === 'delete') this.ifaces.delete(name);
    else if (operation === 'update') found.set(key ?? '', value ?? '');
    else {
      const lines = [...found].map(([setting, text]) => `${setting} = ${text}\n`);
      const text = `# BEGIN RECORD 2.1\niface.iscsi_ifacename = ${name}\n${lines.join('')}iface.ipaddress = <empty>\n# END RECORD\n`;
      return { stdout: text };
    }
    return {};
  }

  #discover(portal: string, iface: string): Partial<ProgramResult> {
    const target = this.targets.get(portal);
    if (target === undefined) return { code: 4, stderr: `iscsiadm: cannot make connection to ${portal}\n` };
    this.nodes.set(`${portal} ${target.iqn} ${iface}`, new Map());
    return { stdout: `${portal},1 ${target.iqn}\n` };
  }

  #node(session: Session, args: readonly string[], option: (name: string) => string): Partial<ProgramResult> {
    const { iface, iqn, portal } = session;
    const keys = [...this.nodes.keys()].filter((key) =>
      iface === '*' ? key.startsWith(`${portal} ${iqn} `) : key === `${portal} ${iqn} ${iface}`,
    );
    const at = this.sessions.findIndex(
      (each) => each.portal === portal && each.iqn === iqn && each.iface === iface,
    );
    if (keys.length === 0) return { code: 21, stderr: 'iscsiadm: No records found\n' };
    if (args.includes('--login'))
      return at >= 0 ? { code: 15, stderr: 'already exists\n' } : this.#login(session);
    if (args.includes('--logout')) {
      if (at < 0) return { code: 2, stderr: 'iscsiadm: No matching sessions found\n' };
      this.#logout(at);
      return {};
    }
    for (const key of keys)
      if (option('-o') === 'delete') this.nodes.delete(key);
      else this.nodes.get(key)?.set(option('-n'), option('-v'));
    return {};
  }

  #login({ iface, iqn, portal }: Session): Partial<ProgramResult> {
    const target = this.targets.get(portal);
    const settings = this.nodes.get(`${portal} ${iqn} ${iface}`);
    if (target?.password !== undefined && settings?.get('node.session.auth.password') !== target.password)
      return {
        code: 24,
        stderr: 'iscsiadm: initiator reported error (24 - iSCSI login failed due to authorization failure)\n',
      };
    const host = this.#hosts++;
    const files = this.#devices.files;
    this.sessions.push({ portal, iqn, iface, host });
    const session = sessionDir(host);
    files.set(`${session}/iscsi_session/session${host}/targetname`, `${iqn}\n`);
    files.set(`${session}/iscsi_session/session${host}/ifacename`, `${iface}\n`);
    const connection = `${session}/connection${host}:0/iscsi_connection/connection${host}:0`;
    const end = portal.lastIndexOf(':');
    for (const prefix of ['', 'persistent_']) {
      files.set(`${connection}/${prefix}address`, `${portal.slice(0, end).replace(/[[\]]/g, '')}\n`);
      files.set(`${connection}/${prefix}port`, `${portal.slice(end + 1)}\n`);
    }
    files.set(`/sys/class/scsi_host/host${host}/scan`, '');
    return {};
  }

  #logout(at: number): void {
    const [session] = this.sessions.splice(at, 1);
    if (session === undefined) return;
    const { host } = session;
    for (const lun of this.targets.get(session.portal)?.luns ?? []) {
      const disk = this.#diskOf(host, lun);
      if (disk !== undefined) this.#remove(disk);
    }
    for (const path of this.#devices.files.keys())
      if (
        path.startsWith(`/sys/class/iscsi_host/host${host}/`) ||
        path === `/sys/class/scsi_host/host${host}/scan`
      )
        this.#devices.files.delete(path);
  }

  #write(path: string, text: string): void {
    const host = /^\/sys\/class\/scsi_host\/host(\d+)\/scan$/.exec(path)?.[1];
    const session = this.sessions.find((each) => each.host === Number(host));
    if (session !== undefined) this.#scan(session, Number(text.split(' ')[2]));
    const disk = /^\/sys\/block\/(sd[a-z]+)\/device\/delete$/.exec(path)?.[1];
    if (disk !== undefined) this.#remove(disk);
  }

  #scan({ host, iqn, portal }: Session, lun: number): void {
    const { files, links } = this.#devices;
    if (this.targets.get(portal)?.luns.includes(lun) !== true || this.#diskOf(host, lun) !== undefined)
      return;
    const name = `sd${String.fromCharCode(97 + (this.#disks++ % 26))}`;
    files.set(`${sessionDir(host)}/target${host}:0:0/${host}:0:0:${lun}/block/${name}/size`, '2048');
    for (const file of ['delete', 'rescan']) files.set(`/sys/block/${name}/device/${file}`, '');
    links.set(`/dev/${name}`, `/dev/${name}`);
    links.set(`/dev/disk/by-path/ip-${portal.replace(/[[\]]/g, '')}-iscsi-${iqn}-lun-${lun}`, `/dev/${name}`);
    if (!this.multipath) return;
    const map = `dm-${lun}`;
    files.set(`/sys/block/${map}/dm/uuid`, `mpath-${iqn}`);
    files.set(`/sys/block/${map}/slaves/${name}`, '');
    files.set(`/sys/block/${name}/holders/${map}`, '');
    links.set(`/dev/${map}`, `/dev/${map}`);
  }

  #diskOf(host: number, lun: number): string | undefined {
    const prefix = `${sessionDir(host)}/target${host}:0:0/${host}:0:0:${lun}/block/`;
    const path = [...this.#devices.files.keys()].find((each) => each.startsWith(prefix));
    return path?.slice(prefix.length).split('/')[0];
  }

  #remove(disk: string): void {
    const { files, links } = this.#devices;
    for (const path of files.keys())
      if (path.includes(`/block/${disk}/`) || path.endsWith(`/slaves/${disk}`)) files.delete(path);
    for (const [path, target] of links) if (target === `/dev/${disk}`) links.delete(path);
  }

  #flush(path: string): Partial<ProgramResult> {
    const { files, links } = this.#devices;
    const map = path.slice('/dev/'.length);
    links.delete(path);
    for (const file of files.keys())
      if (file.startsWith(`/sys/block/${map}/`) || file.endsWith(`/holders/${map}`)) files.delete(file);
    return {};
  }
}

function sessionDir(host: number): string {
  return `/sys/class/iscsi_host/host${host}/device/session${host}`;
}
