import { accessSync, appendFileSync, constants, statSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { followKernelLog } from './kernel-log.ts';

let made: string;
beforeEach(async () => {
  made = await mkdtemp(join(tmpdir(), 'kmsg-'));
});
afterEach(async () => await rm(made, { recursive: true }));

const nobody = { onRecord: () => undefined, onError: () => undefined };

test('a log that is not there is an error that names it', async () =>
  await expect(followKernelLog(nobody, join(made, 'none'))).rejects.toMatchObject({
    kind: 'not-found',
    message: expect.stringContaining('cannot open'),
  }));

test('what is not the log of the kernel is told as that', async () => {
  const path = join(made, 'plain');
  await writeFile(path, '6,1,2,-;old\n');
  for (const other of [path, '/dev/null'])
    await expect(followKernelLog(nobody, other)).rejects.toThrow(`${other} is not the kernel's log`);
});

const why = whyNoLog();
test.skipIf(why !== undefined)(
  `what is logged from now on, and nothing of before${why === undefined ? '' : ` (skipped: ${why})`}`,
  async () => {
    const mark = `kubelet test ${process.pid}`;
    appendFileSync('/dev/kmsg', `${mark} before\n`);
    const seen: string[] = [];
    let told = (): void => undefined;
    const came = new Promise<void>((resolve) => {
      told = resolve;
    });
    const log = await followKernelLog({
      onRecord: (record) => {
        if (!record.includes(mark)) return;
        seen.push(record);
        told();
      },
      onError: (err) => void seen.push(String(err)),
    });
    // Waiting does not keep a process alive by itself.
    const alive = setInterval(() => undefined, 1_000);
    appendFileSync('/dev/kmsg', `${mark} after\n`);
    await came;
    clearInterval(alive);
    log.close();
    log.close();
    expect(seen).toEqual([expect.stringMatching(new RegExp(`^\\d+,\\d+,\\d+,.*;${mark} after\n`))]);
  },
);

function whyNoLog(): string | undefined {
  try {
    accessSync('/dev/kmsg', constants.R_OK | constants.W_OK);
    return statSync('/dev/kmsg').rdev === 0x10b ? undefined : 'here /dev/kmsg is something else';
  } catch {
    return 'the log of the kernel cannot be read and written here';
  }
}
