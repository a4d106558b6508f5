// kubelet ps: the pods of the node, once or as they change.
import { realClock } from '../../base/clock.ts';
import type { NodeApi } from '../../edge/node-api/node-api.ts';
import { type PodLine, podLines } from '../../terminal/pod-rows.ts';
import { changesBetween, podsJson, podsTable } from '../../terminal/pods-table.ts';
import { safeJson } from '../../terminal/safe-text.ts';
import { type CommandCall, type CommandResult, UsageError } from './command-call.ts';
import { namespaceOption, openNodeApi, readPods, screenOf, textOption } from './node-client.ts';
import { watchScreen } from './watch-screen.ts';

const refreshMs = 1_000;

export async function ps({ output, parsed, signal }: CommandCall): Promise<CommandResult> {
  const { options } = parsed;
  const format = textOption(options, 'output') ?? 'text';
  const isWatch = options.has('watch');
  if (isWatch && format === 'json') throw new UsageError('--watch prints text, not JSON');
  const api = await openNodeApi(options);
  const list = listPods(api, namespaceOption(options), signal);
  if (format === 'json') return { stdout: safeJson(podsJson(await list({ safe: false }))), exitCode: 0 };
  const wide = format === 'wide';
  const tableOf = (pods: readonly PodLine[]): readonly string[] =>
    podsTable(pods, realClock.now(), {
      wide,
      screen: screenOf(output),
    });
  const first = await list({ safe: true });
  if (!isWatch) return { stdout: `${tableOf(first).join('\n')}\n`, exitCode: 0 };
  return await watchScreen({
    first,
    read: () => list({ safe: true }),
    linesOf: tableOf,
    changesBetween,
    clock: realClock,
    refreshMs,
    output,
    signal,
  });
}

function listPods(
  api: NodeApi,
  namespace: string | undefined,
  signal: AbortSignal,
): (options: { readonly safe: boolean }) => Promise<readonly PodLine[]> {
  return async ({ safe }) => {
    const { explained, pods } = await readPods(api, signal, { safe });
    return podLines(pods, explained).filter(
      ({ pod }) => namespace === undefined || pod.startsWith(`${namespace}/`),
    );
  };
}
