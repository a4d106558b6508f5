// The node's page in a real browser, against the built kubelet with real containers: every view by its deep link shows what the API
// reports, is accessible, works by keyboard, follows what happens without a reload, and displays hostile text as text.
import { readFileSync } from 'node:fs';
import { beforeAll, expect, test } from 'vitest';
import { waitFor } from './rig/wait.ts';
import type { Viewer } from './support/page-browser.ts';
import { describeWithPage, type PageNode, usePageNode } from './support/page-node.ts';
import { crashingPod, hostilePod, markup, stagedPod, steadyPod } from './support/page-pods.ts';
import {
  apiExplain,
  apiHistory,
  apiPods,
  connection,
  inspect,
  log,
  podFragment,
  podNameOf,
  podRow,
  podTable,
  region,
  textOf,
} from './support/page-views.ts';
import { untilContainer, untilRunning } from './support/pod-state.ts';

describeWithPage("the node's page", () => {
  let node: PageNode;
  const open = async (fragment: string): Promise<Viewer> => {
    const viewer = await node.browser.viewer(node.ui);
    await viewer.open(fragment);
    return viewer;
  };

  usePageNode((started) => {
    node = started;
  });
  beforeAll(async () => {
    const { kubelet, rig } = node;
    kubelet.writeManifest('steady', steadyPod('steady'));
    kubelet.writeManifest('staged', stagedPod('staged'));
    kubelet.writeManifest('crashing', crashingPod('crashing'));
    kubelet.writeManifest('hostile', hostilePod('hostile', rig.workspace.dir));
    await untilRunning(kubelet, 'steady');
    await untilRunning(kubelet, 'staged');
    await untilContainer(kubelet, 'crashing', 'ended twice', ({ restartCount }) => restartCount > 0);
    await untilContainer(kubelet, 'hostile', 'ended', ({ restartCount }) => restartCount > 0, 'ender');
  });

  test('lists the node and its pods as the API reports them', async () => {
    const viewer = await open('');
    await podRow(viewer, 'steady').waitFor();
    await connection(viewer).getByText('Connected').waitFor();
    const pods = await apiPods(node);
    const names = await podTable(viewer).getByRole('link').allInnerTexts();
    expect(names.toSorted()).toEqual(pods.map((pod) => pod.metadata?.name ?? '').toSorted());
    expect(await textOf(podRow(viewer, 'steady'))).toMatch(/default.*Running.*2\/2/);
    expect(await textOf(podRow(viewer, 'crashing'))).toMatch(/1\/2/);
    for (const pod of pods) {
      const row = podTable(viewer)
        .getByRole('row')
        .filter({ hasText: pod.metadata?.name ?? '' });
      expect(await textOf(row)).toContain(pod.status?.podIP ?? '');
    }
    for (const part of ['Ready', 'containerd', 'nodefs'])
      await region(viewer, 'Node').getByText(part).first().waitFor();
    await inspect(viewer, 'pods');
  });

  test('a pod: its sentence, start, probes, containers, volumes, events and spec', async () => {
    const viewer = await open(podFragment('staged'));
    await viewer.page.getByRole('heading', { level: 1, name: podNameOf('staged') }).waitFor();
    const explained = (await apiExplain(node)).find(({ name }) => name === podNameOf('staged'));
    await region(viewer, 'Why')
      .getByText(explained?.explanation ?? 'none')
      .waitFor();
    const start = await textOf(region(viewer, 'Start'));
    expect(start).toContain('was ready');
    for (const stage of ['Admit', 'Volumes', 'Sandbox', 'Create', 'prepare', 'main'])
      expect(start).toContain(stage);
    expect(await textOf(region(viewer, 'Probes'))).toMatch(/readiness/i);
    const containers = await textOf(region(viewer, 'Containers'));
    for (const part of ['prepare', 'main', 'busybox']) expect(containers).toContain(part);
    expect(await textOf(region(viewer, 'Volumes'))).toMatch(/data.*emptyDir/);
    const events = await textOf(region(viewer, 'Events'));
    for (const { reason } of explained?.events ?? []) expect(events).toContain(reason);
    await inspect(viewer, 'pod');
    await viewer.goTo(podFragment('staged', 'spec'));
    const [pod] = (await apiPods(node)).filter(({ metadata }) => metadata?.name === podNameOf('staged'));
    await region(viewer, 'Spec')
      .getByText(pod?.metadata?.uid ?? 'none')
      .first()
      .waitFor();
    await inspect(viewer, 'spec');
    await viewer.goTo(podFragment('staged', 'events'));
    await region(viewer, 'Events').waitFor();
    await inspect(viewer, 'events');
  });

  test('a crashing pod: its ends with cause, exit code and last lines', async () => {
    const viewer = await open(podFragment('crashing'));
    const [newest] = await apiHistory(node, 'crashing');
    const ends = region(viewer, 'Ends');
    await ends
      .getByText(newest?.cause ?? 'none')
      .first()
      .waitFor();
    await ends.getByText('no such table: users').first().waitFor();
    await inspect(viewer, 'crashing');
  });

  test('a start and a crash appear without a reload', async () => {
    const viewer = await open('#/pods');
    await podTable(viewer).waitFor();
    await viewer.page.evaluate('globalThis.notReloaded = true');
    node.kubelet.writeManifest('late', stagedPod('late', 1));
    await podRow(viewer, 'late').waitFor();
    await viewer.goTo(podFragment('late'));
    const start = region(viewer, 'Start');
    await start.getByText('is not ready yet').waitFor();
    await start.getByText('prepare').first().waitFor();
    await viewer.screenshot('starting');
    await start.getByText('was ready').waitFor();
    await viewer.screenshot('started');
    const pod = await node.kubelet.pod('late');
    const [status] = pod?.status?.containerStatuses ?? [];
    await node.rig.ctr('tasks', 'kill', '--signal=KILL', (status?.containerID ?? '').replace(/^.*\//, ''));
    await region(viewer, 'Ends')
      .getByText(/137|SIGKILL/)
      .first()
      .waitFor();
    node.kubelet.removeManifest('late');
    await viewer.goTo('#/pods');
    await podRow(viewer, 'late').waitFor({ state: 'detached' });
    expect(await viewer.page.evaluate('globalThis.notReloaded')).toBe(true);
  });

  test('the eviction order and the health of the kubelet', async () => {
    const viewer = await open('#/eviction');
    const order = region(viewer, 'Eviction order');
    for (const { metadata } of await apiPods(node)) await order.getByText(metadata?.name ?? '').waitFor();
    await order.getByText('memory.available').first().waitFor();
    await inspect(viewer, 'eviction');
    await viewer.goTo('#/health');
    const health = region(viewer, 'Kubelet health');
    await health.getByText('pod-workers').first().waitFor();
    await health
      .getByText(/MiB|MB/)
      .first()
      .waitFor();
    await inspect(viewer, 'health');
  });

  test('works with the keyboard only', async () => {
    const viewer = await open('#/pods');
    const { page } = viewer;
    await podRow(viewer, 'steady').waitFor();
    await page.keyboard.press('/');
    await page.keyboard.type('stea');
    await podRow(viewer, 'crashing').waitFor({ state: 'detached' });
    // Out of the field, to the first row.
    await page.keyboard.press('Escape');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await page.waitForURL(`**/${podFragment('steady')}`);
    await page.keyboard.press('l');
    await log(viewer).waitFor();
    expect(page.url()).toContain(podFragment('steady', 'logs'));
    await page.keyboard.press('Escape');
    await page.waitForURL(`**/${podFragment('steady')}`);
    await page.keyboard.press('Escape');
    await podTable(viewer).waitFor();
  });

  test('copies the kubectl command of each view', async () => {
    const viewer = await node.browser.viewer(node.ui, {
      permissions: ['clipboard-read', 'clipboard-write'],
    });
    const expected = [
      ['#/pods', /^kubectl get pods /],
      [podFragment('steady'), new RegExp(`^kubectl .*(describe|get) pod.* ${podNameOf('steady')}`)],
      [podFragment('steady', 'logs'), new RegExp(`^kubectl .*logs .*${podNameOf('steady')}`)],
      [podFragment('steady', 'spec'), new RegExp(`^kubectl get pod .*-o yaml ${podNameOf('steady')}`)],
      [podFragment('steady', 'events'), /^kubectl .*(events|get events)/],
      ['#/eviction', /^kubectl /],
      ['#/health', /^kubectl /],
    ] as const;
    await viewer.open('#/pods');
    await podRow(viewer, 'steady').waitFor();
    for (const [fragment, command] of expected) {
      await viewer.goTo(fragment);
      await viewer.page.evaluate("navigator.clipboard.writeText('')");
      await viewer.page.getByRole('button', { name: 'Copy kubectl command' }).click();
      const copied = await waitFor(
        async () => String(await viewer.page.evaluate('navigator.clipboard.readText()')) || false,
        `the command of ${fragment}`,
        5000,
      );
      expect(copied).toMatch(command);
    }
  });

  test('hostile text is displayed as text in every view', async () => {
    const viewer = await open('#/pods');
    const { page } = viewer;
    const marked = page.getByText('onerror=window.__pwned=1');
    const inert = async (view: string): Promise<void> => {
      expect(await page.evaluate('String(globalThis.__pwned)'), view).toBe('undefined');
      const found = await page.evaluate(`document.querySelectorAll(
        '[onerror], img, body script, a[href^="javascript:" i], iframe, object').length`);
      expect(found, view).toBe(0);
    };
    await podRow(viewer, 'hostile').waitFor();
    await inert('pods');
    await viewer.goTo(podFragment('hostile'));
    for (const name of ['Probes', 'Ends', 'Containers', 'Volumes', 'Events'])
      await region(viewer, name).getByText('onerror=window.__pwned=1').first().waitFor();
    await inert('pod');
    await inspect(viewer, 'hostile-pod');
    for (const view of ['events', 'spec', 'logs']) {
      await viewer.goTo(podFragment('hostile', view));
      await marked.first().waitFor();
      await inert(view);
      await viewer.screenshot(`hostile-${view}`);
    }
    // A link from another page.
    for (const fragment of [
      `#/pods/default/${encodeURIComponent(markup)}`,
      `#/pods/default/${podNameOf('hostile')}/logs?q=${encodeURIComponent(markup)}`,
      '#/pods/default/%',
      '#/pods/default/x/logs?q=(a%2B)%2B%24',
    ]) {
      await viewer.open(fragment);
      await page.getByRole('main').waitFor();
      await inert(fragment);
    }
  });

  test('works on the secure port with a client certificate', async () => {
    const viewer = await node.browser.viewer(node.secureUi, {
      ignoreHTTPSErrors: true,
      clientCertificates: [{ origin: new URL(node.secureUi).origin, ...node.client }],
    });
    await viewer.open('#/pods');
    await podRow(viewer, 'steady').waitFor();
    const anonymous = await node.browser.viewer(node.secureUi, {
      ignoreHTTPSErrors: true,
      expects: [/401|favicon/],
    });
    expect(await anonymous.open('')).toBe(401);
  });

  test('the token of the address bar is removed', async () => {
    const viewer = await open(`#token=${node.token()}&to=${podFragment('steady').slice(1)}`);
    await viewer.page.getByRole('heading', { level: 1, name: podNameOf('steady') }).waitFor();
    expect(viewer.page.url()).not.toContain(node.token());
    expect(viewer.urls.filter((url) => url.includes(node.token()) && !url.includes('#'))).toEqual([]);
    expect(readFileSync(node.kubelet.log.path, 'utf8')).not.toContain(node.token());
  });
});
