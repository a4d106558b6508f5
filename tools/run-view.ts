// What `make run` displays: the table of `kubelet ps` and the next commands on a terminal, otherwise one line per change.
import type { PodLine } from '../src/terminal/pod-rows.ts';
import { changesBetween, podsTable } from '../src/terminal/pods-table.ts';
import { fitTo } from '../src/terminal/width.ts';

type View = (pods: readonly PodLine[], health: string) => void;

/** Redraws the table when it changes. */
function terminalView(nodeName: string, hintLines: readonly string[]): View {
  let shown = '';
  return (pods, health) => {
    // A terminal may report 0.
    const columns = process.stdout.columns || 80;
    const colours = (process.env['NO_COLOR'] ?? '') === '';
    const lines = [
      fitTo(`node ${nodeName}, kubelet ${health}`, columns),
      '',
      ...podsTable(pods, Date.now(), { wide: true, screen: { columns, colours } }),
      '',
      ...hintLines.map((line) => fitTo(line, columns)),
    ];
    // Each line clears the remainder of the old one, which avoids flicker.
    const text = lines.map((line) => `${line}\x1b[K`).join('\n');
    if (text !== shown) process.stdout.write(`${shown === '' ? '\x1b[2J' : ''}\x1b[H${text}\n\x1b[J`);
    shown = text;
  };
}

/** Prints one line per change. */
function lineView(hintLines: readonly string[]): View {
  let before: readonly PodLine[] = [];
  let healthBefore = '';
  for (const line of hintLines) console.log(line);
  return (pods, health) => {
    const time = new Date().toISOString().slice(11, 19);
    if (health !== healthBefore) console.log(`${time} kubelet ${health}`);
    for (const change of changesBetween(before, pods)) console.log(`${time} ${change}`);
    before = pods;
    healthBefore = health;
  };
}

export function runView(nodeName: string, hintLines: readonly string[]): View {
  return process.stdout.isTTY ? terminalView(nodeName, hintLines) : lineView(hintLines);
}
