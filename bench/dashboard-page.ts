// Measures how fast the node's page is displayed by Chromium on loopback, with 20 pods: first paint and the first row of the table since
// the navigation began, and the bytes transferred; cold (a new profile, empty cache) and warm (the second visit). The median
// of nine loads each. Prints a table without a verdict.
//
//   node tools/run-ts.mjs bench/dashboard-page.ts [--smoke]
import { loadavg } from 'node:os';
import { rigUnavailableReason } from '../integration/rig/prerequisites.ts';
import { waitFor } from '../integration/rig/wait.ts';
import { container, manifest } from '../integration/support/manifest.ts';
import { PageBrowser, type Viewer } from '../integration/support/page-browser.ts';
import { type PageNode, startPageNode } from '../integration/support/page-node.ts';
import { untilRunning } from '../integration/support/pod-state.ts';
import { inMs, median, table } from './statistics.ts';

const smoke = process.argv.includes('--smoke');
const podCount = smoke ? 2 : 20;
const loads = smoke ? 1 : 9;

interface Load {
  readonly firstPaintMs: number;
  readonly contentMs: number;
  readonly rowsMs: number;
  readonly bytes: number;
}

/** Notes when the table has its first row. */
const watchRows = `new MutationObserver((_, observer) => {
  if (document.querySelector('main table tbody tr') === null) return;
  globalThis.rowsMs = performance.now();
  observer.disconnect();
}).observe(document, { childList: true, subtree: true });`;

const readLoad = `(() => {
  const paint = (name) => performance.getEntriesByName(name)[0]?.startTime ?? Number.NaN;
  const loaded = [...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')];
  return {
    firstPaintMs: paint('first-paint'),
    contentMs: paint('first-contentful-paint'),
    rowsMs: globalThis.rowsMs,
    bytes: loaded.reduce((sum, { transferSize }) => sum + transferSize, 0),
  };
})()`;

const isDrawn =
  "globalThis.rowsMs !== undefined && performance.getEntriesByName('first-contentful-paint').length > 0";

async function load(viewer: Viewer): Promise<Load> {
  await viewer.open('#/pods');
  // The policy of the page forbids waitForFunction(), which evaluates its text in the page.
  await waitFor(async () => (await viewer.page.evaluate(isDrawn)) === true, 'the table of pods');
  return (await viewer.page.evaluate(readLoad)) as Load;
}

async function measure(node: PageNode): Promise<void> {
  const results: Record<'cold' | 'warm', Load[]> = { cold: [], warm: [] };
  for (let i = 0; i < loads; i++) {
    const viewer = await node.browser.viewer(node.ui);
    await viewer.context.addInitScript(watchRows);
    results.cold.push(await load(viewer));
    await viewer.page.goto('about:blank');
    results.warm.push(await load(viewer));
    await node.browser.closeViewers();
  }
  const rows = Object.entries(results).map(([name, all]) => [
    name,
    inMs(median(all.map(({ firstPaintMs }) => firstPaintMs))),
    inMs(median(all.map(({ contentMs }) => contentMs))),
    inMs(median(all.map(({ rowsMs }) => rowsMs))),
    (median(all.map(({ bytes }) => bytes)) / 1024).toFixed(1),
  ]);
  console.log(`${podCount} pods, ${loads} loads each, load ${loadavg()[0]?.toFixed(1)}`);
  console.log(table([['cache', 'first paint', 'first content', 'first row', 'KiB'], ...rows]));
}

const why = rigUnavailableReason() ?? PageBrowser.unavailableReason();
if (why !== undefined) throw new Error(why);
const node = await startPageNode();
try {
  const names = Array.from({ length: podCount }, (_, index) => `p${index}`);
  for (const name of names)
    node.kubelet.writeManifest(name, manifest(name, { containers: [container('main')] }));
  for (const name of names) await untilRunning(node.kubelet, name);
  await measure(node);
} finally {
  await node.browser.stop();
  await node.rig.stop();
}
