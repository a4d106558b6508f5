// Without a free file descriptor a program cannot be started: the call fails, and the process of the kubelet lives on.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

test('programs that cannot be started without a file descriptor fail only the call', async () => {
  const client = 'ulimit -n 256; exec node tools/run-ts.mjs test/clients/spawn-without-files.ts';
  const { stdout } = await promisify(execFile)('sh', ['-c', client]);
  expect(stdout.trim().split('\n')).toEqual([
    'cannot run systemd-inhibit: spawn systemd-inhibit EMFILE',
    expect.stringContaining('cannot run true'),
    expect.stringContaining('cannot run true'),
  ]);
});
