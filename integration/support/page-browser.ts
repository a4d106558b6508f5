// A real browser for the tests of the node's page: Debian's Chromium, driven by playwright-core. One browser per file, a context
// per viewer. Invariant: a viewer whose page threw, logged an error, violated its Content-Security-Policy or requested anything
// from another origin fails when it is closed.
import { mkdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import {
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  chromium,
  type Page,
  type Request,
} from 'playwright-core';
import { findProgram } from '../rig/prerequisites.ts';
import { repositoryRoot } from '../rig/repository.ts';
import { slowness } from '../rig/wait.ts';

const defaultTimeoutMs = 15_000 * slowness;
const reportFolder = join('dist', 'reports', 'page');

/**
 * Chromium aborts the connections that it is just establishing when an address of the machine changes, such as that of a pod's
 * interface, and displays its error page if that was the document's.
 */
const networkChanged = /ERR_NETWORK_CHANGED|interrupted by another navigation to "chrome-error:/;
const maxAttempts = 5;

/** Reported by the console listener of the viewer. */
const violationMark = 'Content-Security-Policy violated:';
const reportViolations = `addEventListener('securitypolicyviolation', (event) => console.error(
  ${JSON.stringify(violationMark)}, event.effectiveDirective, event.blockedURI, event.sourceFile));`;

interface ViewerOptions extends BrowserContextOptions {
  /** Console errors that the test provokes, such as those of a connection that it closes. */
  readonly expects?: readonly RegExp[];
}

interface AxeResult {
  readonly violations: readonly {
    readonly id: string;
    readonly impact: string | null;
    readonly help: string;
    readonly nodes: readonly { readonly html: string; readonly failureSummary?: string }[];
  }[];
}

export class PageBrowser {
  readonly #browser: Browser;
  readonly #viewers = new Set<Viewer>();

  private constructor(browser: Browser) {
    this.#browser = browser;
  }

  static unavailableReason(): string | undefined {
    return findProgram('chromium') === undefined
      ? 'chromium not found (make integration installs it)'
      : undefined;
  }

  static async start(): Promise<PageBrowser> {
    const why = PageBrowser.unavailableReason();
    if (why !== undefined) throw new Error(why);
    const browser = await chromium.launch({
      executablePath: findProgram('chromium') ?? '',
      // The tests run as root, which Chromium's sandbox refuses; /dev/shm is small in containers.
      args: ['--headless=new', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'],
    });
    return new PageBrowser(browser);
  }

  /** A viewer with storage of its own. `baseUrl` ends with /ui/. */
  async viewer(baseUrl: string, options: ViewerOptions = {}): Promise<Viewer> {
    const { expects = [], ...contextOptions } = options;
    const context = await this.#browser.newContext({
      viewport: { width: 1280, height: 900 },
      ...contextOptions,
    });
    context.setDefaultTimeout(defaultTimeoutMs);
    await context.addInitScript(reportViolations);
    const viewer = new Viewer(context, await context.newPage(), baseUrl, expects);
    this.#viewers.add(viewer);
    return viewer;
  }

  /** Closes all viewers. Throws if the page of one of them misbehaved. A test that failed gets pictures of what was shown. */
  async closeViewers(failedTest?: string): Promise<void> {
    const viewers = [...this.#viewers];
    this.#viewers.clear();
    for (const [index, viewer] of viewers.entries()) {
      if (failedTest !== undefined)
        await viewer
          .screenshot(`failed-${failedTest.replaceAll(/\W+/g, '-').slice(0, 60)}-${index}`)
          .catch(() => undefined);
      await viewer.close();
    }
    const faults = viewers.flatMap((viewer) => viewer.faults);
    if (faults.length > 0) throw new Error(`the page misbehaved:\n${faults.join('\n')}`);
  }

  async stop(): Promise<void> {
    await this.#browser.close();
  }
}

export class Viewer {
  readonly context: BrowserContext;
  readonly page: Page;
  readonly baseUrl: string;
  /** Of everything that the page requested. */
  readonly urls: string[] = [];
  readonly faults: string[] = [];
  readonly #expects: RegExp[];

  constructor(context: BrowserContext, page: Page, baseUrl: string, expects: readonly RegExp[]) {
    this.context = context;
    this.page = page;
    this.baseUrl = baseUrl;
    this.#expects = [...expects];
    const { origin } = new URL(baseUrl);
    page.on('request', (request) => {
      const url = request.url();
      this.urls.push(url);
      if (!url.startsWith(`${origin}/`) && !/^(data|blob):/.test(url))
        this.faults.push(`requested ${url.slice(0, 200)}`);
    });
    page.on('websocket', (socket) => {
      this.urls.push(socket.url());
      if (new URL(socket.url()).host !== new URL(origin).host)
        this.faults.push(`connected to ${socket.url()}`);
    });
    page.on('console', (message) => {
      if (message.type() !== 'error') return;
      const text = `${message.text()} ${message.location().url}`;
      if (networkChanged.test(text)) return;
      if (text.includes(violationMark) || !this.#expects.some((expected) => expected.test(text)))
        this.faults.push(`console: ${text.slice(0, 500)}`);
    });
    page.on('pageerror', (err) => this.faults.push(`threw ${err.stack ?? err.message}`));
    page.on('dialog', (dialog) => {
      this.faults.push(`dialog: ${dialog.message()}`);
      void dialog.dismiss();
    });
    page.on('crash', () => this.faults.push('the page crashed'));
  }

  /** From here on such console errors are no faults. */
  expectErrors(...errors: readonly RegExp[]): void {
    this.#expects.push(...errors);
  }

  /** Loads the page, with the status of the document; again if the network of the machine changed meanwhile. */
  async open(fragment: string): Promise<number | undefined> {
    for (let attempt = 1; ; attempt++) {
      const aborted: string[] = [];
      const listener = (request: Request): void => {
        const why = request.failure()?.errorText ?? '';
        if (networkChanged.test(why)) aborted.push(request.url());
      };
      this.page.on('requestfailed', listener);
      try {
        const response = await this.page.goto(`${this.baseUrl}${fragment}`);
        if (aborted.length === 0 || attempt === maxAttempts) return response?.status();
      } catch (err) {
        if (!networkChanged.test(String(err)) || attempt === maxAttempts) throw err;
      } finally {
        this.page.off('requestfailed', listener);
      }
      // Ends the navigation to Chromium's error page, which could interrupt the next attempt. From an empty page, an address with the
      // same document is loaded again.
      await this.page.goto('about:blank').catch(() => undefined);
    }
  }

  /** Another view of the loaded page. */
  async goTo(fragment: string): Promise<void> {
    await this.page.evaluate(`location.hash = ${JSON.stringify(fragment)}`);
  }

  /** Into dist/reports/page. */
  async screenshot(name: string, fullPage = true): Promise<void> {
    const path = join(repositoryRoot(), reportFolder, `${name}.png`);
    mkdirSync(dirname(path), { recursive: true });
    await this.page.screenshot({ path, fullPage, animations: 'disabled' });
  }

  /** One line per serious or critical finding of axe. */
  async accessibilityFindings(): Promise<readonly string[]> {
    await this.page.evaluate(axeSource());
    const result = (await this.page.evaluate(
      "axe.run(document, { resultTypes: ['violations'] })",
    )) as AxeResult;
    return result.violations
      .filter(({ impact }) => impact === 'serious' || impact === 'critical')
      .map(
        ({ id, help, nodes }) =>
          `${id}: ${help}: ${nodes
            .slice(0, 3)
            .map(({ html, failureSummary = '' }) => `${html.slice(0, 200)} ${failureSummary.slice(0, 300)}`)
            .join(' | ')}`,
      );
  }

  async close(): Promise<void> {
    await this.context.close();
  }
}

let axe: string | undefined;

function axeSource(): string {
  axe ??= readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
  return axe;
}
