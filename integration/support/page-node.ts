// A rig with one kubelet that serves its page on a loopback port, and a browser, for all tests of a suite. The secure port knows
// clients by their certificates only. `describeWithPage` skips a suite, with the reason, where there is no Chromium.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe } from 'vitest';
import { TestAuthority } from '../../test/api-server/pki.ts';
import { freePort, type Kubelet } from '../rig/kubelet.ts';
import { rigUnavailableReason } from '../rig/prerequisites.ts';
import { type Rig, startRig } from '../rig/rig.ts';
import { PageBrowser } from './page-browser.ts';

export interface PageNode {
  readonly rig: Rig;
  readonly kubelet: Kubelet;
  readonly browser: PageBrowser;
  readonly port: number;
  /** The page on the loopback port, which needs no credentials for reading. */
  readonly ui: string;
  /** The page on the secure port. */
  readonly secureUi: string;
  /** A client certificate for the secure port. */
  readonly client: { readonly cert: Buffer; readonly key: Buffer };
  /** Needed on the loopback port for running commands. */
  token(): string;
}

export const pageNodeName = 'node';

export function describeWithPage(name: string, body: () => void): void {
  const why = rigUnavailableReason() ?? PageBrowser.unavailableReason();
  describe.skipIf(why !== undefined)(why === undefined ? name : `${name} (skipped: ${why})`, body);
}

export async function startPageNode(nodeName = pageNodeName): Promise<PageNode> {
  const [rig, browser] = await Promise.all([startRig(), PageBrowser.start()]);
  const port = await freePort(rig.workspace);
  const authority = new TestAuthority();
  const client = authority.issue({
    commonName: 'viewer',
    organizations: ['system:masters'],
    usage: 'client',
  });
  mkdirSync(rig.workspace.dir, { recursive: true });
  const clientCAFile = join(rig.workspace.dir, 'viewers-ca.crt');
  writeFileSync(clientCAFile, authority.cert);
  const kubelet = await rig.kubelet({
    nodeName,
    flags: [`--dashboard-port=${port}`],
    config: {
      authentication: {
        anonymous: { enabled: false },
        webhook: { enabled: false },
        x509: { clientCAFile },
      },
    },
  });
  return {
    rig,
    kubelet,
    browser,
    port,
    ui: `http://127.0.0.1:${port}/ui/`,
    secureUi: `https://127.0.0.1:${kubelet.securePort}/ui/`,
    client: { cert: Buffer.from(client.cert), key: Buffer.from(client.key) },
    token: () => readFileSync(join(kubelet.rootDir, 'dashboard-token'), 'utf8').trim(),
  };
}

/** Starts them before all tests, and fails a test whose page misbehaved. */
export function usePageNode(onStarted: (node: PageNode) => void | Promise<void>): void {
  let node: PageNode | undefined;
  beforeAll(async () => {
    node = await startPageNode();
    await onStarted(node);
  });
  afterEach(async ({ task }) => {
    await node?.browser.closeViewers(task.result?.state === 'fail' ? task.name : undefined);
  });
  afterAll(async () => {
    await node?.browser.stop();
    await node?.rig.stop();
  });
}
