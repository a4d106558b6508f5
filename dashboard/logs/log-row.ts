// Makes the element of one line. Every text of the log becomes a text node.
import { parseAnsi } from './ansi.ts';
import type { KeptLine } from './log-ring.ts';
import { timeOfDay } from './log-session.ts';
import type { Ranges } from './matcher.ts';

export interface RowOptions {
  /** Names of the containers, by index; without them, lines have no name. */
  readonly names: readonly string[];
  readonly hasTimes: boolean;
  readonly ranges: Ranges | undefined;
  readonly isCurrent: boolean;
}

export const coloursOfContainers = 8;

export function createRow(line: KeptLine, { hasTimes, isCurrent, names, ranges }: RowOptions): HTMLElement {
  const row = document.createElement('div');
  row.className = 'log-row';
  if (line.isNote) row.classList.add('log-note');
  if (line.s === 'stderr') row.classList.add('log-stderr');
  if (isCurrent) row.classList.add('log-current');
  if (hasTimes && !line.isNote) {
    const time = element('span', 'log-time', timeOfDay(line.t));
    time.title = line.t;
    row.append(time, ' ');
  }
  const name = names[line.c];
  if (name !== undefined)
    row.append(element('span', `log-name log-c${line.c % coloursOfContainers}`, name), ' ');
  const text = element('span', 'log-text', '');
  appendText(text, line.x, ranges);
  row.append(text);
  if (line.cut === true) row.append(element('span', 'log-cut', ' … cut'));
  return row;
}

function element(tag: string, className: string, text: string): HTMLElement {
  const made = document.createElement(tag);
  made.className = className;
  if (text !== '') made.textContent = text;
  return made;
}

function appendText(parent: HTMLElement, line: string, ranges: Ranges | undefined): void {
  let at = 0;
  let next = 0;
  for (const { classes, text } of parseAnsi(line)) {
    let target = parent;
    if (classes !== '') {
      target = element('span', classes, '');
      parent.append(target);
    }
    let from = 0;
    while (from < text.length) {
      const begin = (ranges?.[next] ?? Number.POSITIVE_INFINITY) - at;
      const end = (ranges?.[next + 1] ?? Number.POSITIVE_INFINITY) - at;
      if (end <= from) {
        next += 2;
        continue;
      }
      const isMatch = begin <= from;
      const until = Math.min(text.length, isMatch ? end : begin);
      const part = text.slice(from, until);
      target.append(isMatch ? element('mark', '', part) : part);
      from = until;
    }
    at += text.length;
  }
}
