import { expect, test } from 'vitest';
import { type Logger, silentLogger } from '../../base/log/log.ts';
import { DashboardToken } from './dashboard-token.ts';

const path = '/r/dashboard-token';

async function started(files: Map<string, string>, over: { canWrite?: boolean } = {}) {
  const logged: string[] = [];
  const note = (message: string): void => void logged.push(message);
  const log: Logger = { ...silentLogger, warn: note, error: note };
  let filled = 0;
  const token = new DashboardToken({
    path,
    files: {
      read: async (name) => files.get(name),
      write: async (name, text) => {
        if (over.canWrite === false) throw new Error('no space left on device');
        files.set(name, text);
      },
    },
    randomBytes: (count) => new Uint8Array(count).fill(++filled),
    log,
  });
  const stop = new AbortController();
  await token.start(stop.signal);
  stop.abort();
  return { logged, token };
}

test('matches nothing before it was read', () => {
  const files = { read: async () => undefined, write: async () => undefined };
  const token = new DashboardToken({ path, files, randomBytes: () => new Uint8Array(32), log: silentLogger });
  expect(token.matches('')).toBe(false);
});

test('a new token has 32 random bytes and is written', async () => {
  const files = new Map<string, string>();
  const { logged, token } = await started(files);
  const text = files.get(path) ?? '';
  expect(Buffer.from(text, 'base64url')).toEqual(Buffer.alloc(32, 1));
  expect(token.matches(text)).toBe(true);
  for (const wrong of ['', text.slice(1), `${text}x`, text.toLowerCase()])
    expect(token.matches(wrong)).toBe(false);
  expect(logged).toEqual([]);
});

test('is kept over restarts, and written again for the mode of its file', async () => {
  const files = new Map<string, string>();
  await started(files);
  const text = `${files.get(path) ?? ''}\n`;
  files.set(path, text);
  const { logged, token } = await started(files);
  expect(token.matches(text.trim())).toBe(true);
  expect(files.get(path)).toBe(text.trim());
  expect(logged).toEqual([]);
});

test.each(['', 'short', 'x'.repeat(300), `${'x'.repeat(42)}ü`, `${'x'.repeat(43)} y`])(
  'an invalid token (%j) is replaced with a warning',
  async (text) => {
    const files = new Map([[path, text]]);
    const { logged, token } = await started(files);
    expect(token.matches(text.trim())).toBe(false);
    expect(Buffer.from(files.get(path) ?? '', 'base64url')).toHaveLength(32);
    expect(logged).toEqual(['The token of the dashboard is invalid and is replaced']);
  },
);

test('a full disk does not keep the kubelet from starting', async () => {
  const { logged } = await started(new Map(), { canWrite: false });
  expect(logged).toEqual(['Failed to write the token of the dashboard']);
});
