// Appends lines to the history in the directory of its argument until it is killed, and prints one line for each.
import { realClock } from '../../src/base/clock.ts';
import { HistoryDirectory } from '../../src/edge/history/history-files.ts';
import { HistorySegments } from '../../src/history/segments.ts';

const segments = new HistorySegments(
  new HistoryDirectory(process.argv[2] ?? '', realClock),
  64 * 1024 * 1024,
);
for (let count = 0; ; count++) {
  await segments.append(JSON.stringify({ id: String(count), text: 'x'.repeat(1_000) }));
  console.log(count);
}
