// The entry of the worker that runs regular expressions. The page terminates it if it does not answer in time.
import { shownText } from './ansi.ts';
import { compile, match } from './matcher.ts';
import type { FoundLine, SearchAnswer, SearchRequest } from './search-protocol.ts';

/** A longer line is searched up to here. */
const maxLineLength = 16 * 1024;
const headers = (token: string | undefined): Record<string, string> =>
  token === undefined ? {} : { authorization: `Bearer ${token}` };

function send(answer: SearchAnswer): void {
  postMessage(answer);
}

addEventListener('message', ({ data }: MessageEvent<SearchRequest>) => {
  const compiled = compile(data.pattern);
  if ('problem' in compiled) {
    send({ is: 'done', problem: compiled.problem });
    return;
  }
  const { expression } = compiled;
  if (data.do === 'scan') {
    scan(expression, data).catch((err: unknown) => {
      send({ is: 'done', problem: err instanceof Error ? err.message : String(err) });
    });
    return;
  }
  const found = data.texts.flatMap((text, index) => {
    const ranges = match(expression, shownText(text));
    return ranges === undefined ? [] : [[data.first + index, ranges] as const];
  });
  send({ is: 'matched', found });
});

/** Reads a whole log and sends the lines that match. */
async function scan(expression: RegExp, request: Extract<SearchRequest, { do: 'scan' }>): Promise<void> {
  const response = await fetch(request.url, { headers: headers(request.token) });
  if (!response.ok || response.body === null) {
    send({ is: 'done', problem: `${request.container}: ${(await response.text()).slice(0, 500)}` });
    return;
  }
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  let rest = '';
  for (;;) {
    const { done, value } = await reader.read();
    const text = rest + (done ? decoder.decode() : decoder.decode(value, { stream: true }));
    const lines = text.split('\n');
    rest = done ? '' : (lines.pop() ?? '').slice(0, maxLineLength);
    send({ is: 'busy' });
    const found = lines.flatMap((line) => search(expression, request.container, line) ?? []);
    send({ is: 'progress', bytes: value?.length ?? 0, found });
    if (done) break;
  }
  send({ is: 'done' });
}

/** A line of the log begins with its time. */
function search(expression: RegExp, container: string, line: string): FoundLine | undefined {
  const at = line.indexOf(' ');
  const text = shownText(line.slice(at + 1, at + 1 + maxLineLength));
  if (line === '' || match(expression, text) === undefined) return undefined;
  return { container, time: line.slice(0, Math.max(0, at)), text };
}
