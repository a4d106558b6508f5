// Logs and the terminal of the node's page in a real browser: live lines, search, previous containers, download, and commands in a
// container.
import { readFileSync } from 'node:fs';
import { beforeAll, expect, test } from 'vitest';
import { waitFor } from './rig/wait.ts';
import type { Viewer } from './support/page-browser.ts';
import { describeWithPage, type PageNode, usePageNode } from './support/page-node.ts';
import { crashingPod, steadyPod } from './support/page-pods.ts';
import {
  countsShown,
  expectUnbroken,
  inspect,
  log,
  logLines,
  podFragment,
  podNameOf,
  region,
} from './support/page-views.ts';
import { untilContainer, untilRunning } from './support/pod-state.ts';

describeWithPage("logs and the terminal of the node's page", () => {
  let node: PageNode;
  usePageNode((started) => {
    node = started;
  });
  const open = async (fragment: string): Promise<Viewer> => {
    const viewer = await node.browser.viewer(node.ui);
    await viewer.open(fragment);
    return viewer;
  };

  beforeAll(async () => {
    node.kubelet.writeManifest('steady', steadyPod('steady'));
    node.kubelet.writeManifest('crashing', crashingPod('crashing'));
    await untilRunning(node.kubelet, 'steady');
    await untilContainer(node.kubelet, 'crashing', 'ended', ({ restartCount }) => restartCount > 0);
  });

  test('follows all containers, each line once and in order', async () => {
    const viewer = await open(podFragment('steady', 'logs'));
    await log(viewer)
      .getByText(/\bcount \d+/)
      .first()
      .waitFor();
    const before = (await countsShown(viewer)).at(-1) ?? 0;
    await waitFor(async () => ((await countsShown(viewer)).at(-1) ?? 0) > before + 10, 'ten more lines');
    expectUnbroken(await countsShown(viewer));
    await log(viewer)
      .getByText(/tick \d+/)
      .first()
      .waitFor();
    await viewer.page.getByRole('checkbox', { name: 'Follow' }).waitFor();
    await inspect(viewer, 'logs', false);
  });

  test('one container by its deep link, and lines by a regular expression', async () => {
    const viewer = await open(podFragment('steady', 'logs?c=ticker'));
    await log(viewer)
      .getByText(/tick \d+/)
      .first()
      .waitFor();
    expect(await logLines(viewer).innerText()).not.toContain('count');
    await viewer.goTo(podFragment('steady', 'logs'));
    const search = viewer.page.getByRole('searchbox', { name: 'Search logs' });
    await search.fill('count \\d*[05]$');
    const marks = logLines(viewer).locator('mark');
    await marks.first().waitFor();
    for (const text of await marks.allInnerTexts()) expect(text).toMatch(/^count \d*[05]$/);
    expect(viewer.page.url()).toContain('q=');
    await viewer.screenshot('logs-search', false);
    await search.fill('(unclosed');
    await viewer.page
      .getByText(/regular expression|Invalid|Unterminated/i)
      .first()
      .waitFor();
    await viewer.screenshot('logs-search-invalid', false);
  });

  test('searches the whole log', async () => {
    const viewer = await open(podFragment('steady', 'logs?c=counter&q=count%201%24'));
    await viewer.page.getByRole('button', { name: 'Search the whole log' }).click();
    await log(viewer)
      .getByText(/count 1$/)
      .first()
      .waitFor();
    await viewer.screenshot('logs-whole');
  });

  test('the log of the previous container', async () => {
    const viewer = await open(podFragment('crashing', 'logs?c=main&previous=1'));
    await log(viewer).getByText('no such table: users').first().waitFor();
    expect(await viewer.page.getByRole('checkbox', { name: 'Previous' }).isChecked()).toBe(true);
  });

  test('downloads a log', async () => {
    const viewer = await open(podFragment('steady', 'logs?c=ticker'));
    await log(viewer)
      .getByText(/tick \d+/)
      .first()
      .waitFor();
    const [download] = await Promise.all([
      viewer.page.waitForEvent('download'),
      viewer.page.getByRole('button', { name: 'Download' }).click(),
    ]);
    expect(download.suggestedFilename()).toContain(podNameOf('steady'));
    expect(readFileSync(await download.path(), 'utf8')).toMatch(/tick 1\n(.*tick 2\n)?/);
  });

  test('the terminal runs commands with the token, and shows how they ended', async () => {
    const viewer = await open(
      `#token=${node.token()}&to=${podFragment('steady', 'shell').slice(1)}?c=counter`,
    );
    const terminal = region(viewer, 'Terminal');
    await terminal.getByText('Connected').waitFor();
    await terminal.getByRole('textbox', { name: 'Terminal input' }).focus();
    await viewer.page.keyboard.type('echo $((6*7))\n');
    await terminal.getByText(/^42/).first().waitFor();
    await inspect(viewer, 'terminal');
    await terminal.getByRole('textbox', { name: 'Terminal input' }).focus();
    await viewer.page.keyboard.type('exit 7\n');
    await terminal.getByText('ended with exit code 7').waitFor();
    await viewer.screenshot('terminal-ended');
  });

  test('without the token the terminal explains how to get it', async () => {
    const viewer = await open(podFragment('steady', 'shell?c=counter'));
    await viewer.page
      .getByText(/enter a token/)
      .first()
      .waitFor();
    await inspect(viewer, 'terminal-without-token');
  });
});
