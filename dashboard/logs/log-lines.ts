// Draws the lines that are in view, once per frame. Invariants: at most maxRows lines are in the document; while the viewer follows,
// the last line is in view; otherwise the first line in view keeps its place, whatever arrives, is dropped or was estimated wrongly.

import type { KeptLine } from './log-ring.ts';
import { createRow } from './log-row.ts';
import type { LogSession } from './log-session.ts';
import { VisibleLines } from './visible-lines.ts';

interface LinesOptions {
  readonly wrap: boolean;
  readonly hasTimes: boolean;
  readonly names: readonly string[];
  /** Only the lines that match. */
  readonly filters: boolean;
  /** The number of the line that a search has selected. */
  readonly current: number | undefined;
}

const maxRows = 200;
/** Rows above and below the view, so that scrolling shows text at once. */
const extraRows = 10;
const atEndPx = 4;

export class LogLines {
  readonly #session: LogSession;
  readonly #scroller: HTMLElement;
  readonly #spacer = document.createElement('div');
  readonly #window = document.createElement('div');
  #options: LinesOptions;
  #frame = 0;
  #rows = new Map<number, HTMLElement>();
  #rowsVersion = '';
  #rowPx = 18;
  #charPx = 8;
  #width = 0;
  #lastTop = 0;
  /** The first line in view, and how far it is above the edge. */
  #anchor = { number: 0, above: 0 };

  constructor(session: LogSession, scroller: HTMLElement, options: LinesOptions) {
    this.#session = session;
    this.#scroller = scroller;
    this.#options = options;
    this.#spacer.className = 'log-spacer';
    this.#window.className = 'log-window';
    this.#spacer.append(this.#window);
    scroller.replaceChildren(this.#spacer);
    scroller.addEventListener('scroll', this.#onScroll, { passive: true });
    this.#measure();
  }

  set(options: LinesOptions): void {
    if (options.wrap !== this.#options.wrap || options.hasTimes !== this.#options.hasTimes)
      this.#session.ring.forgetHeights();
    this.#options = options;
    this.poke();
  }

  /** Draws in the next frame. */
  poke(): void {
    if (this.#frame === 0) this.#frame = requestAnimationFrame(() => this.#draw());
  }

  resized(): void {
    if (this.#scroller.clientWidth !== this.#width) {
      this.#measure();
      this.#session.ring.forgetHeights();
    }
    this.poke();
  }

  stop(): void {
    cancelAnimationFrame(this.#frame);
    this.#scroller.removeEventListener('scroll', this.#onScroll);
  }

  scrollTo(number: number): void {
    this.#session.follow(false);
    this.#anchor = { number, above: -Math.floor(this.#scroller.clientHeight / 3) };
    this.poke();
  }

  scrollToFirst(): void {
    this.scrollTo(this.#session.ring.first);
  }

  readonly #onScroll = (): void => {
    const { clientHeight, scrollHeight, scrollTop } = this.#scroller;
    const isAtEnd = scrollTop + clientHeight >= scrollHeight - atEndPx;
    if (isAtEnd && scrollTop > this.#lastTop) this.#session.follow(true);
    else if (!isAtEnd && scrollTop < this.#lastTop - 1) this.#session.follow(false);
    if (!this.#session.follows && scrollTop !== this.#lastTop) {
      const lines = this.#lines();
      const index = lines.indexAt(scrollTop);
      const line = lines.at(index);
      if (line !== undefined) this.#anchor = { number: line.number, above: scrollTop - lines.topOf(index) };
    }
    this.#lastTop = scrollTop;
    this.poke();
  };

  #lines(): VisibleLines {
    const { filters, wrap } = this.#options;
    const { ring, searcher } = this.#session;
    const estimate = (line: KeptLine): number => this.#rowPx * this.#rowsOf(line);
    return new VisibleLines(
      ring,
      filters && searcher.isActive ? searcher.numbers() : undefined,
      this.#rowPx,
      wrap ? estimate : undefined,
    );
  }

  /** An estimate: characters may be wider than others. */
  #rowsOf({ c, x }: KeptLine): number {
    const { hasTimes, names } = this.#options;
    const before = (hasTimes ? 13 : 0) + (names[c] === undefined ? 0 : (names[c]?.length ?? 0) + 1);
    return Math.max(1, Math.ceil(((before + x.length) * this.#charPx) / Math.max(50, this.#width - 16)));
  }

  #draw(): void {
    this.#frame = 0;
    const lines = this.#lines();
    const height = this.#scroller.clientHeight;
    const wantedTop = this.#session.follows
      ? Math.max(0, lines.height - height)
      : lines.topOf(lines.indexOf(this.#anchor.number)) + this.#anchor.above;
    const from = Math.max(0, lines.indexAt(wantedTop) - extraRows);
    const until = Math.min(lines.count, from + maxRows, lines.indexAt(wantedTop + height) + extraRows + 1);
    this.#fill(lines, from, until);
    this.#spacer.style.height = `${lines.height}px`;
    this.#window.style.transform = `translateY(${lines.topOf(from)}px)`;
    const wrong = this.#measureRows(lines, from, until);
    const top = this.#session.follows ? this.#scroller.scrollHeight : Math.max(0, wantedTop);
    if (Math.abs(this.#scroller.scrollTop - top) >= 1) this.#scroller.scrollTop = top;
    this.#lastTop = this.#scroller.scrollTop;
    if (wrong) this.poke();
  }

  #fill(lines: VisibleLines, from: number, until: number): void {
    const { current, hasTimes, names } = this.#options;
    const { searcher } = this.#session;
    const version = JSON.stringify([hasTimes, names, searcher.pattern, current]);
    if (version !== this.#rowsVersion) this.#rows.clear();
    this.#rowsVersion = version;
    const rows = new Map<number, HTMLElement>();
    for (let index = from; index < until; index++) {
      const line = lines.at(index);
      if (line === undefined) continue;
      const { number } = line;
      const ranges = searcher.ranges(number);
      const old = this.#rows.get(number);
      // A row that was drawn before it was searched.
      const isCurrent = old !== undefined && (ranges === undefined || old.dataset['found'] === 'yes');
      const row = isCurrent
        ? old
        : createRow(line, { names, hasTimes, ranges, isCurrent: current === number });
      if (ranges !== undefined) row.dataset['found'] = 'yes';
      rows.set(number, row);
    }
    this.#rows = rows;
    this.#window.replaceChildren(...rows.values());
  }

  /** True if an estimate was wrong. */
  #measureRows(lines: VisibleLines, from: number, until: number): boolean {
    if (!this.#options.wrap) return false;
    let wrong = false;
    for (let index = from; index < until; index++) {
      const line = lines.at(index);
      const height = line === undefined ? undefined : heightOf(this.#rows.get(line.number));
      if (line === undefined || height === undefined || height === 0 || height === line.height) continue;
      line.height = height;
      wrong = true;
    }
    return wrong;
  }

  #measure(): void {
    const sample = createRow(
      { number: 0, isNote: false, c: 0, t: '', x: 'x'.repeat(100) },
      { names: [], hasTimes: false, ranges: undefined, isCurrent: false },
    );
    sample.classList.add('log-sample');
    this.#window.append(sample);
    this.#rowPx = sample.getBoundingClientRect().height || this.#rowPx;
    const text = sample.querySelector('.log-text');
    const width = text?.getBoundingClientRect().width ?? 0;
    if (width > 0) this.#charPx = width / 100;
    sample.remove();
    this.#width = this.#scroller.clientWidth;
  }
}

/** Not rounded: the sum over many rows would hide a part of the last one. */
function heightOf(row: HTMLElement | undefined): number | undefined {
  return row?.getBoundingClientRect().height;
}
