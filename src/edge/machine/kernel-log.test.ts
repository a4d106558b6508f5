import { accessSync, appendFileSync, constants, statSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { followKernelLog } from './kernel-log.ts';

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'kmsg-'));
});
afterEach(async () => await rm(dir, { recursive: true }));

const ignore = { onRecord: () => undefined, onError: () => undefined };

test('names a log that does not exist', async () =>
  await expect(followKernelLog(ignore, join(dir, 'none'))).rejects.toMatchObject({
    kind: 'not-found',
    message: expect.stringContaining('cannot open'),
  }));

test('rejects a file that is not the kernel log', async () => {
  const path = join(dir, 'plain');
  await writeFile(path, '6,1,2,-;old\n');
  for (const other of [path, '/dev/null'])
    await expect(followKernelLog(ignore, other)).rejects.toThrow(`${other} is not the kernel log`);
});

const skipReason = findSkipReason();
test.skipIf(skipReason !== undefined)(
  `reports new records only${skipReason === undefined ? '' : ` (skipped: ${skipReason})`}`,
  async () => {
    const mark = `kubelet test ${process.pid}`;
    appendFileSync('/dev/kmsg', `${mark} before\n`);
    const seen: string[] = [];
    let onMark = (): void => undefined;
    const reported = new Promise<void>((resolve) => {
      onMark = resolve;
    });
    const log = await followKernelLog({
      onRecord: (record) => {
        if (!record.includes(mark)) return;
        seen.push(record);
        onMark();
      },
      onError: (err) => void seen.push(String(err)),
    });
    // A pending promise does not keep the process alive.
    const alive = setInterval(() => undefined, 1_000);
    appendFileSync('/dev/kmsg', `${mark} after\n`);
    await reported;
    clearInterval(alive);
    log.close();
    log.close();
    expect(seen).toEqual([expect.stringMatching(new RegExp(`^\\d+,\\d+,\\d+,.*;${mark} after\n`))]);
  },
);

function findSkipReason(): string | undefined {
  try {
    accessSync('/dev/kmsg', constants.R_OK | constants.W_OK);
    return statSync('/dev/kmsg').rdev === 0x10b ? undefined : '/dev/kmsg is another device';
  } catch {
    return 'the kernel log cannot be read and written';
  }
}
