// The command behind `make picture`: takes the pictures of the node's page in README.md from a real kubelet with a handful of sample
// pods, in light and dark. Only times, addresses and plots differ between two runs.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildBusyboxImage } from '../integration/rig/images.ts';
import { rigUnavailableReason } from '../integration/rig/prerequisites.ts';
import { repositoryRoot } from '../integration/rig/repository.ts';
import { PageBrowser, type Viewer } from '../integration/support/page-browser.ts';
import { startPageNode } from '../integration/support/page-node.ts';
import { picturedImages, picturedPods, unreadyPods } from '../integration/support/pictured-pods.ts';
import { untilContainer, untilRunning } from '../integration/support/pod-state.ts';
import type { ContainerStatus } from '../src/api/k8s/types.ts';

const nodeName = 'edge-7';
/** So that the plots show something. */
const watchedMs = 60_000;
const webpQuality = 82;
const folder = join(repositoryRoot(), 'docs', 'images');

/** As WebP, which Chromium encodes to a fifth of a PNG. */
async function takePicture(viewer: Viewer, name: string): Promise<void> {
  const session = await viewer.context.newCDPSession(viewer.page);
  for (const colorScheme of ['light', 'dark'] as const) {
    await viewer.page.emulateMedia({ colorScheme });
    // The plots are redrawn with the next sample.
    await viewer.page.waitForTimeout(2500);
    const { data } = await session.send('Page.captureScreenshot', { format: 'webp', quality: webpQuality });
    const path = join(folder, `${name}-${colorScheme}.webp`);
    const bytes = Buffer.from(data, 'base64');
    writeFileSync(path, bytes);
    console.log(`${path}  ${(bytes.length / 1024).toFixed(0)} KiB`);
  }
}

const why = rigUnavailableReason() ?? PageBrowser.unavailableReason();
if (why !== undefined) throw new Error(why);
mkdirSync(folder, { recursive: true });
const node = await startPageNode(nodeName);
try {
  const viewer = await node.browser.viewer(node.ui, {
    viewport: { width: 1440, height: 740 },
    deviceScaleFactor: 2,
  });
  await viewer.open(`#token=${node.token()}`);
  const image = await buildBusyboxImage('shop');
  for (const name of Object.values(picturedImages)) node.rig.registry.add(name, image);
  // So that the first start has a pull worth seeing.
  node.rig.registry.addFault({ do: 'slow', ms: 700, on: 'blob' });
  for (const [name, pod] of Object.entries(picturedPods)) {
    node.kubelet.writeManifest(name, pod);
    if (!unreadyPods.includes(name)) await untilRunning(node.kubelet, name);
  }
  await viewer.page.waitForTimeout(watchedMs);
  const isBackingOff = ({ restartCount, state }: ContainerStatus): boolean =>
    restartCount > 1 && state?.waiting?.reason === 'CrashLoopBackOff';
  await untilContainer(node.kubelet, 'db-migrate', 'backing off', isBackingOff, 'migrate');
  await takePicture(viewer, 'node-page');
  await viewer.page.getByRole('link', { name: `api-${nodeName}` }).click();
  await viewer.page.setViewportSize({ width: 1440, height: 900 });
  await takePicture(viewer, 'node-page-pod');
  await node.browser.closeViewers();
} finally {
  await node.browser.stop();
  await node.rig.stop();
}
