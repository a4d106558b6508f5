// The views of the node's page by their accessible names, and what the kubelet's API reports of the same pods.

import type { Locator } from 'playwright-core';
import { expect } from 'vitest';
import type { Pod } from '../../src/api/k8s/types.ts';
import type { EndRecord } from '../../src/history/end-record.ts';
import type { Viewer } from './page-browser.ts';
import { type PageNode, pageNodeName } from './page-node.ts';

export const podNameOf = (name: string): string => `${name}-${pageNodeName}`;
export const podFragment = (name: string, view = ''): string =>
  `#/pods/default/${podNameOf(name)}${view === '' ? '' : `/${view}`}`;

export const region = (viewer: Viewer, name: string): Locator =>
  viewer.page.getByRole('region', { name, exact: true });
export const podTable = (viewer: Viewer): Locator =>
  viewer.page.getByRole('table', { name: 'Pods', exact: true });
export const podRow = (viewer: Viewer, name: string): Locator =>
  podTable(viewer)
    .getByRole('row')
    .filter({ has: viewer.page.getByRole('link', { name: podNameOf(name), exact: true }) });
export const log = (viewer: Viewer): Locator => viewer.page.getByRole('log', { name: 'Logs' });
/** The drawn lines of the log: those in view, and some above and below. */
export const logLines = (viewer: Viewer): Locator => log(viewer).getByRole('group', { name: 'Lines' });
export const connection = (viewer: Viewer): Locator => viewer.page.getByRole('banner').getByRole('status');

interface Explanation {
  readonly name: string;
  readonly namespace: string;
  readonly explanation: string;
  readonly events: readonly { readonly reason: string; readonly message: string }[];
}

/** The API on the port of the page. */
async function get<T>(node: PageNode, path: string): Promise<T> {
  const response = await fetch(`http://127.0.0.1:${node.port}${path}`, {
    signal: AbortSignal.timeout(10_000),
  });
  if (response.status !== 200) throw new Error(`GET ${path}: ${response.status}: ${await response.text()}`);
  return (await response.json()) as T;
}

export async function apiPods(node: PageNode): Promise<readonly Pod[]> {
  const { items } = await get<{ readonly items: readonly Pod[] | null }>(node, '/pods');
  return items ?? [];
}

export async function apiExplain(node: PageNode): Promise<readonly Explanation[]> {
  return (await get<{ readonly pods: readonly Explanation[] }>(node, '/explain')).pods;
}

export async function apiHistory(node: PageNode, name: string): Promise<readonly EndRecord[]> {
  const path = `/explain/history?pod=default/${podNameOf(name)}`;
  return (await get<{ readonly records: readonly EndRecord[] }>(node, path)).records;
}

/** What a locator shows, with white space as the browser renders it. */
export async function textOf(locator: Locator): Promise<string> {
  return (await locator.innerText()).replaceAll(/\s+/g, ' ').trim();
}

/** The numbers of the lines `count N` in the log view, in the order shown. */
export async function countsShown(viewer: Viewer): Promise<readonly number[]> {
  return [...(await logLines(viewer).innerText()).matchAll(/\bcount (\d+)$/gm)].map((match) =>
    Number(match[1]),
  );
}

/** Every number once, in order. */
export function expectUnbroken(counts: readonly number[]): void {
  const first = counts[0] ?? 0;
  expect(counts).toEqual(counts.map((_, index) => first + index));
}

/** Takes pictures in light, dark and on a phone; checks the accessibility in both themes, and that a phone needs no scrolling sideways. */
export async function inspect(viewer: Viewer, name: string, fullPage = true): Promise<void> {
  const { page } = viewer;
  const size = page.viewportSize() ?? { width: 1280, height: 900 };
  const findings: string[] = [];
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    await viewer.screenshot(`${name}-${colorScheme}`, fullPage);
    for (const finding of await viewer.accessibilityFindings()) findings.push(`${colorScheme}: ${finding}`);
  }
  await page.setViewportSize({ width: 390, height: 844 });
  await viewer.screenshot(`${name}-phone`, fullPage);
  const wider = await page.evaluate('document.documentElement.scrollWidth - innerWidth');
  if (Number(wider) > 0) findings.push(`phone: ${wider} px wider than the screen`);
  await page.setViewportSize(size);
  await page.emulateMedia({ colorScheme: 'light' });
  expect(findings, `accessibility of ${name}`).toEqual([]);
}
