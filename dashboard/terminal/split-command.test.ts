import { expect, test } from 'vitest';
import { splitCommand } from './split-command.ts';

const cases: readonly (readonly [text: string, want: readonly string[]])[] = [
  ['', []],
  ['  ', []],
  ['ls -l  /', ['ls', '-l', '/']],
  [`sh -c 'echo "a b"; exit 3'`, ['sh', '-c', 'echo "a b"; exit 3']],
  ['echo "a \\" b" c\\ d', ['echo', 'a " b', 'c d']],
  [`echo '' ""`, ['echo', '', '']],
  ["echo 'unfinished", ['echo', 'unfinished']],
];
for (const [text, want] of cases) {
  test(`splitCommand: ${text}`, () => {
    expect(splitCommand(text)).toEqual(want);
  });
}
