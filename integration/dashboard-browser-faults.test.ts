// Faults under the node's page in a real browser: a container that floods its log, 500 pods, viewers that do not read, too many viewers,
// a kubelet that is killed, credentials that expire, requests from other origins.
import { once } from 'node:events';
import { get as httpGet, type IncomingMessage } from 'node:http';
import { afterEach, beforeAll, expect, onTestFinished, test } from 'vitest';
import { slowness, waitFor } from './rig/wait.ts';
import { container, manifest } from './support/manifest.ts';
import { describeWithPage, type PageNode, usePageNode } from './support/page-node.ts';
import { markup, steadyPod } from './support/page-pods.ts';
import { PageProxy } from './support/page-proxy.ts';
import { restartsOf, StreamClient, silentClient, streamManyPods } from './support/page-stream.ts';
import {
  connection,
  countsShown,
  expectUnbroken,
  log,
  podFragment,
  podNameOf,
  podRow,
} from './support/page-views.ts';
import { containerStatus, untilRunning } from './support/pod-state.ts';

const maxViewers = 64;
/** About 50 MB per second, half of it random bytes, half of it lines of markup and terminal escapes. */
const floods = `head -c 524288 /dev/urandom > /tmp/flood
  printf '\\033[31mred\\033[2J%s\\n' '${markup}<script>window.__pwned=1</script>' > /tmp/line
  i=0; while [ $i -lt 12 ]; do cat /tmp/line /tmp/line > /tmp/two; mv /tmp/two /tmp/line; i=$((i+1)); done
  cat /tmp/line >> /tmp/flood
  while :; do cat /tmp/flood; usleep 20000; done`;

/** Clicks the heading of the column, and returns the milliseconds until the rows are drawn. */
const sortByRestarts = `(async () => {
  const heading = [...document.querySelectorAll('table th button')].find(({ textContent }) => /restarts/i.test(textContent));
  const startedMs = performance.now();
  heading.click();
  await new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)));
  return performance.now() - startedMs;
})()`;

describeWithPage("faults under the node's page", () => {
  let node: PageNode;
  const proxies: PageProxy[] = [];
  const clients: { close(): void }[] = [];
  afterEach(async () => {
    for (const client of clients.splice(0)) client.close();
    await Promise.all(proxies.splice(0).map((proxy) => proxy.stop()));
  });
  // Its viewers are closed before the proxies: hooks run in reverse order.
  usePageNode((started) => {
    node = started;
  });
  beforeAll(async () => {
    node.kubelet.writeManifest('steady', steadyPod('steady', 5));
    await untilRunning(node.kubelet, 'steady');
  });
  const proxied = async (): Promise<{ readonly proxy: PageProxy; readonly ui: string }> => {
    const proxy = new PageProxy(node.port);
    proxies.push(proxy);
    return { proxy, ui: await proxy.start() };
  };
  const within = async <T>(ms: number, what: string, work: Promise<T>): Promise<T> => {
    const startedMs = performance.now();
    const result = await work;
    expect(performance.now() - startedMs, what).toBeLessThan(ms * slowness);
    return result;
  };

  test('a log flooded with binary garbage, escapes and markup leaves page, kubelet and pods responsive', async () => {
    const before = await untilRunning(node.kubelet, 'steady');
    node.kubelet.writeManifest('flood', manifest('flood', { containers: [container('main', floods)] }));
    onTestFinished(() => node.kubelet.removeManifest('flood'));
    await untilRunning(node.kubelet, 'flood');
    const rssBefore = node.kubelet.usage().rssBytes;
    const viewer = await node.browser.viewer(node.ui);
    await viewer.open(podFragment('flood', 'logs'));
    await log(viewer).getByText('onerror=window.__pwned=1').first().waitFor();
    const untilMs = performance.now() + 4000;
    while (performance.now() < untilMs) {
      expect(await within(1000, 'the page', viewer.page.evaluate('String(globalThis.__pwned)'))).toBe(
        'undefined',
      );
      await within(1000, 'healthz', node.kubelet.healthz());
      await viewer.page.waitForTimeout(200);
    }
    await viewer.screenshot('flood', false);
    const silent = await silentClient(node.port, `/ui/api/logs/default/${podNameOf('flood')}?follow=true`);
    clients.push({ close: () => silent.destroy() });
    await viewer.goTo(podFragment('steady', 'logs?c=counter'));
    const count = await waitFor(async () => (await countsShown(viewer)).at(-1), 'lines of the steady pod');
    await waitFor(async () => ((await countsShown(viewer)).at(-1) ?? 0) > count + 5, 'more lines');
    expect(node.kubelet.usage().rssBytes - rssBefore).toBeLessThan(100 * 2 ** 20);
    const after = await node.kubelet.pod('steady');
    expect(after && containerStatus(after, 'counter')).toEqual(containerStatus(before, 'counter'));
  });

  test('500 pods can be sorted and filtered', async () => {
    const { proxy, ui } = await proxied();
    proxy.stream = streamManyPods(500);
    const viewer = await node.browser.viewer(ui);
    const { page } = viewer;
    await viewer.open('#/pods');
    const links = page.locator('table tbody a');
    await waitFor(async () => (await links.count()) === 500, '500 rows');
    const tookMs = Number(await page.evaluate(sortByRestarts));
    expect(tookMs, 'sorting').toBeLessThan(1000 * slowness);
    const mostRestarts = Array.from({ length: 500 }, (_, index) => restartsOf(index)).indexOf(499);
    expect(await links.first().innerText()).toBe(`pod-${String(mostRestarts).padStart(3, '0')}`);
    await viewer.screenshot('500-pods', false);
    await page.keyboard.press('/');
    await page.keyboard.type('pod-49');
    await waitFor(async () => (await links.count()) === 10, 'ten rows');
    await within(1000, 'the page', page.evaluate('1'));
  });

  test('a viewer that does not read costs the kubelet nothing', async () => {
    const pod = await node.kubelet.pod('steady');
    const rssBefore = node.kubelet.usage().rssBytes;
    for (let index = 0; index < 20; index++) {
      const socket = await silentClient(node.port, `/ui/api/stream?health=1&pod=${pod?.metadata?.uid}`);
      clients.push({ close: () => socket.destroy() });
    }
    const reader = await StreamClient.open(node.port);
    clients.push(reader);
    await waitFor(() => reader.samples().length > 3, 'samples for the viewer that reads');
    expect(node.kubelet.usage().rssBytes - rssBefore).toBeLessThan(30 * 2 ** 20);
  });

  test('all viewers get the same samples, and one too many is rejected with the reason', async () => {
    const open = async (): Promise<StreamClient> => {
      const client = await StreamClient.open(node.port);
      clients.push(client);
      return client;
    };
    // Viewers of earlier tests may still be leaving.
    await waitFor(async () => {
      const first = await open();
      return first.status === 200;
    }, 'a viewer to be accepted');
    const viewers = await Promise.all(Array.from({ length: maxViewers - 1 }, open));
    expect(new Set(viewers.map(({ status }) => status))).toEqual(new Set([200]));
    const tooMany = await open();
    expect(tooMany.status).toBe(503);
    await waitFor(() => /viewers/.test(tooMany.text), 'the reason');
    await waitFor(() => viewers.every((viewer) => viewer.samples().length >= 3), 'three samples for all');
    const byTime = new Map<number, Set<string>>();
    for (const viewer of viewers)
      for (const sample of viewer.samples())
        byTime.set(sample.atMs, (byTime.get(sample.atMs) ?? new Set()).add(JSON.stringify(sample)));
    expect([...byTime.values()].filter(({ size }) => size > 1)).toEqual([]);
    expect(byTime.size).toBeLessThan(8);
  });

  test('a kubelet that is killed and started again: the page reconnects, and no line is lost or doubled', async () => {
    const viewer = await node.browser.viewer(node.ui, {
      expects: [/ERR_CONNECTION|ERR_INCOMPLETE|ERR_EMPTY/],
      // So that all lines are in view.
      viewport: { width: 1280, height: 4000 },
    });
    const { page } = viewer;
    await viewer.open(podFragment('steady', 'logs?c=counter'));
    await page.evaluate('globalThis.notReloaded = true');
    await waitFor(async () => (await countsShown(viewer)).length > 3, 'lines');
    await connection(viewer).getByText('Connected').waitFor();
    await node.kubelet.kill9();
    await connection(viewer).getByText('Reconnecting').waitFor();
    const last = (await countsShown(viewer)).at(-1) ?? 0;
    await page.waitForTimeout(3000);
    await page.getByText(/What you see is \d+ ?s old/).waitFor();
    await viewer.screenshot('reconnecting', false);
    await node.kubelet.start({ keepConfig: true });
    await connection(viewer).getByText('Connected').waitFor({ timeout: 30_000 });
    await waitFor(async () => ((await countsShown(viewer)).at(-1) ?? 0) > last + 20, 'later lines');
    expectUnbroken(await countsShown(viewer));
    await viewer.goTo('#/pods');
    await podRow(viewer, 'steady').waitFor();
    expect(await page.evaluate('globalThis.notReloaded')).toBe(true);
  });

  test('expired credentials: the page reports them, does not flood the kubelet, and recovers', async () => {
    const { proxy, ui } = await proxied();
    const viewer = await node.browser.viewer(ui, { expects: [/401|ERR_/] });
    await viewer.open('#/pods');
    await podRow(viewer, 'steady').waitFor();
    proxy.rejectWith = 401;
    proxy.closeConnections();
    await connection(viewer).getByText('Not authorized').waitFor();
    proxy.paths = [];
    await viewer.page.waitForTimeout(3000);
    expect(proxy.paths.length).toBeLessThan(6);
    await viewer.screenshot('not-authorized', false);
    proxy.rejectWith = undefined;
    await viewer.page.getByRole('button', { name: 'Retry now' }).click();
    await connection(viewer).getByText('Connected').waitFor();
    await podRow(viewer, 'steady').waitFor();
  });

  test.each([
    ['another host, as by DNS rebinding', { host: 'attacker.example' }],
    ['another host with the port', { host: `attacker.example:4194` }],
    ['another origin', { origin: 'http://attacker.example' }],
    ['an opaque origin', { origin: 'null' }],
  ])('rejects requests of %s', async (_what, headers) => {
    for (const path of ['/ui/', '/ui/api/stream', '/pods', '/explain']) {
      const request = httpGet({ host: '127.0.0.1', port: node.port, path, headers, agent: false });
      const [response] = (await once(request, 'response')) as [IncomingMessage];
      response.destroy();
      expect([403, 421], `${path} ${response.statusCode}`).toContain(response.statusCode);
    }
  });
});
