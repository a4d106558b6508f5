import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { adminCertificate, kubeconfigText } from '../../../test/api-server/kubeconfig-text.ts';
import { TestAuthority } from '../../../test/api-server/pki.ts';
import { readKubeconfig } from '../apiserver/open-api-server.ts';
import { bootstrapReason, writeJoinedKubeconfig } from './bootstrap-kubeconfig.ts';

const authority = new TestAuthority({ backdateSeconds: 0 });
const front = { url: 'https://127.0.0.1:6443' };

function aPath(): string {
  const directory = mkdtempSync(join(tmpdir(), 'bootstrap-kubeconfig-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  return join(directory, 'kubelet.conf');
}

test('only a kubeconfig with a client certificate that has not expired makes bootstrapping unnecessary', async () => {
  const kubeconfig = aPath();
  const reason = async (text: string | undefined, nowMs = Date.now()): Promise<string | undefined> => {
    if (text !== undefined) writeFileSync(kubeconfig, text);
    return await bootstrapReason(kubeconfig, nowMs);
  };
  expect(await reason(undefined)).toMatch(/kubelet\.conf does not exist$/);
  expect(await reason('{')).toMatch(/neither YAML nor JSON/);
  expect(await reason(kubeconfigText({ front, authority, token: 't' }))).toMatch(
    /names no client certificate/,
  );
  const client = adminCertificate(authority);
  expect(await reason(kubeconfigText({ front, authority, client }))).toBeUndefined();
  expect(await reason(undefined, Date.now() + 2 * 365 * 24 * 3_600_000)).toMatch(/has expired at/);
  expect(await reason(kubeconfigText({ front, authority, client: { cert: 'x', key: 'x' } }))).toMatch(
    /client certificate of .* is empty/,
  );
  const pattern = /"client-certificate-data":"[^"]*","client-key-data":"[^"]*"/;
  const files = '"client-certificate":"/gone.pem","client-key":"/gone.pem"';
  expect(await reason(readFileSync(kubeconfig, 'utf8').replace(pattern, files))).toMatch(/cannot be read/);
});

test('the written kubeconfig has the cluster of the bootstrap kubeconfig and the certificate instead of the token', async () => {
  const path = aPath();
  writeFileSync(path, kubeconfigText({ front, authority, token: 't' }));
  const bootstrap = await readKubeconfig(path);
  await writeJoinedKubeconfig(path, bootstrap, '/pki/current.pem');
  expect(await readKubeconfig(path)).toEqual({
    ...bootstrap,
    token: undefined,
    clientCertificate: { cert: { file: '/pki/current.pem' }, key: { file: '/pki/current.pem' } },
  });
});
