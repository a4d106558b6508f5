// FlexVolume drivers as programs: shell scripts in a directory that is watched, run by the real edges. Mounts are in memory.
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { realClock } from '../../../src/base/clock.ts';
import { startComponent } from '../../../src/base/component.ts';
import { describeError } from '../../../src/base/errors.ts';
import { silentLogger } from '../../../src/base/log/log.ts';
import { DriverDirectory } from '../../../src/edge/flex-volume/driver-directory.ts';
import { NodePrograms } from '../../../src/edge/host-programs/host-programs.ts';
import { FlexDrivers } from '../../../src/volumes/flex-volume/drivers.ts';
import { flexVolumePlugin } from '../../../src/volumes/flex-volume/flex-volume.ts';
import type { VolumePlugin } from '../../../src/volumes/plugin.ts';
import { aPod } from '../../builders/builders.ts';
import { aSetUpRequest } from '../../builders/volume-requests.ts';
import { FakeVolumeHost } from '../../fakes/fake-volume-host.ts';
import { checkLeaks, type LeakCheck } from '../../leaks/leaks.ts';

const layout = { podsDir: '/root/pods', pluginsDir: '/root/plugins' };
const path = '/root/pods/uid-p/volumes/vendor~driver/v';

describe('FlexVolume drivers that are shell scripts', () => {
  let dir: string;
  let leaks: LeakCheck;
  let stop: AbortController;
  let stopped: Promise<void>;
  let drivers: FlexDrivers;
  let plugin: VolumePlugin;
  let host: FakeVolumeHost;
  beforeEach(async () => {
    leaks = checkLeaks({ settleMs: 3_000 });
    dir = mkdtempSync(join(tmpdir(), 'flex-'));
    host = new FakeVolumeHost(layout.podsDir);
    stop = new AbortController();
    const common = { programs: new NodePrograms(), clock: realClock, log: silentLogger };
    const files = new DriverDirectory({ directory: dir, ...common });
    drivers = new FlexDrivers({ directory: dir, files, ...common });
    plugin = flexVolumePlugin({
      host,
      layout,
      drivers,
      attach: { isByKubelet: false, nodeName: 'node1' },
      events: { pod: () => undefined, node: () => undefined },
      secrets: {
        volumeSecret: () => Promise.resolve({ type: 'vendor/driver', data: { key: 'aHVudGVyMg==' } }),
      },
      ...common,
    });
    ({ stopped } = await startComponent(drivers, stop.signal));
  });
  afterEach(async () => {
    stop.abort();
    await stopped;
    rmSync(dir, { recursive: true });
    await leaks.assertNone();
  });

  /** `cases`: of a shell script's case statement over the command. */
  const install = (cases: string, init = '{"status":"Success","capabilities":{"attach":false}}'): void => {
    const folder = join(dir, 'vendor~driver');
    mkdirSync(folder, { recursive: true });
    const script = `#!/bin/sh
op=$1; shift
printf '%s\\n' "$op" "$@" >> ${dir}/calls
case "$op" in
init) echo '${init}' ;;
${cases}
*) echo '{"status":"Not supported"}'; exit 1 ;;
esac
`;
    writeFileSync(join(folder, '.driver'), script);
    chmodSync(join(folder, '.driver'), 0o755);
    renameSync(join(folder, '.driver'), join(folder, 'driver'));
  };
  const calls = (): readonly string[] =>
    existsSync(`${dir}/calls`) ? readFileSync(`${dir}/calls`, 'utf8').trim().split('\n') : [];
  const request = (signal = new AbortController().signal) => {
    const flexVolume = {
      driver: 'vendor/driver',
      options: { share: "it's $HOME" },
      secretRef: { name: 's' },
    };
    const given = aSetUpRequest('x', { flexVolume }, { pod: aPod() });
    return { given: { ...given, path }, signal };
  };
  const setUp = async (signal?: AbortSignal): Promise<string> => {
    const { given, signal: used } = request(signal);
    return await plugin.setUp(given, used).then(
      () => 'done',
      (err: unknown) => describeError(err),
    );
  };
  const appeared = async (): Promise<void> => {
    await expect.poll(() => plugin.prerequisite?.missing(request().given.spec)).toBeUndefined();
  };

  test('are found when they appear, get upstream’s arguments, and are initialised again when replaced', async () => {
    expect(plugin.prerequisite?.missing(request().given.spec)).toContain('vendor/driver to appear in');
    install(`mount|unmount) echo '{"status":"Success"}' ;;`);
    await appeared();
    expect(await setUp()).toBe('done');
    await plugin.tearDown({ uid: 'uid-p', directoryName: 'v', path }, stop.signal);
    expect(calls()).toEqual([
      'init',
      'mount',
      path,
      `{"kubernetes.io/fsType":"","kubernetes.io/pod.name":"p","kubernetes.io/pod.namespace":"default","kubernetes.io/pod.uid":"uid-p","kubernetes.io/pvOrVolumeName":"v","kubernetes.io/readwrite":"rw","kubernetes.io/secret/key":"aHVudGVyMg==","kubernetes.io/serviceAccount.name":"","share":"it's $HOME"}`,
      'unmount',
      path,
    ]);
    install(`mount) echo '{"status":"Failure","message":"bad hunter2"}' ;;`);
    expect(await setUp()).toBe('mount command failed, status: Failure, reason: bad ***');
    await expect.poll(() => calls().filter((line) => line === 'init').length).toBe(2);
  });

  const hostile: readonly (readonly [string, string, string])[] = [
    [
      '10 MB',
      'mount) head -c 10000000 /dev/zero ;;',
      'mount command failed: the answer has more than 65536 bytes',
    ],
    [
      'an endless stream that it does not survive',
      'mount) yes & sleep 0.2; kill $! ; echo ;;',
      'mount command failed: the answer has more than 65536 bytes',
    ],
    ['nothing', 'mount) ;;', 'mount command failed: the answer is malformed: it is empty'],
    [
      'success, but is killed',
      `mount) echo '{"status":"Success"}'; kill -9 $$ ;;`,
      'mount command failed: the driver reported Success, but ended with a signal',
    ],
    [
      'an answer before its daemon, which keeps the output open',
      `mount) echo '{"status":"Success"}'; sleep 2 & ;;`,
      'done',
    ],
    ['its answer to stderr', `mount) echo '{"status":"Success"}' >&2 ;;`, 'done'],
    ['a warning to stderr', `mount) echo oops >&2; echo '{"status":"Success"}' ;;`, 'done'],
  ];
  for (const [title, cases, want] of hostile)
    test(`a driver that prints ${title}: ${want}`, async () => {
      install(cases);
      await appeared();
      expect(await setUp()).toBe(want);
    });

  test('a driver that hangs is killed with its children when the pod is removed', async () => {
    install(`mount) sleep 1000 & echo $! > ${dir}/child; wait ;;`);
    await appeared();
    const abort = new AbortController();
    const pending = setUp(abort.signal);
    await expect
      .poll(() => existsSync(`${dir}/child`) && readFileSync(`${dir}/child`, 'utf8'))
      .toMatch(/\d+\n/);
    abort.abort(new Error('removed'));
    expect(await pending).toBe('removed');
    const child = Number(readFileSync(`${dir}/child`, 'utf8'));
    await expect.poll(() => isRunning(child)).toBe(false);
  });

  test('a file that other users may change is refused by name', async () => {
    install('mount) ;;');
    chmodSync(join(dir, 'vendor~driver', 'driver'), 0o777);
    await expect
      .poll(() => plugin.prerequisite?.missing(request().given.spec))
      .toBe(
        `FlexVolume driver vendor/driver to be usable: ${dir}/vendor~driver/driver is writable by all users`,
      );
  });
});

/** A killed process of another parent may stay a zombie for a moment. */
function isRunning(pid: number): boolean {
  try {
    return !/^State:\s+[ZX]/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}
