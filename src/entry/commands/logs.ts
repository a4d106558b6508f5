// kubelet logs: the logs of a pod's containers, followed over restarts of the kubelet.

import { durationMs, parseDuration } from '../../api/k8s/duration.ts';
import type { Pod } from '../../api/k8s/types.ts';
import { allContainers } from '../../api/pod/find-container.ts';
import { realClock } from '../../base/clock.ts';
import { KubeletError } from '../../base/errors.ts';
import type { ParsedCommand } from '../../config/command-line/parse-subcommand.ts';
import { findPod } from '../../terminal/find-pod.ts';
import { LogLines } from '../../terminal/log-lines.ts';
import { safeText } from '../../terminal/safe-text.ts';
import { TerminalLog } from '../../terminal/terminal-log.ts';
import { type CommandCall, type CommandOutput, type CommandResult, UsageError } from './command-call.ts';
import { followLog, type LogRequest, pathOf } from './follow-log.ts';
import { namespaceOption, numberOption, openNodeApi, readPods, textOption } from './node-client.ts';

const mostLines = 1_000_000_000;
const defaultContainer = 'kubectl.kubernetes.io/default-container';

export async function logs(call: CommandCall): Promise<CommandResult> {
  const { output, parsed, signal } = call;
  const { options } = parsed;
  const query = logQuery(options);
  const isFollow = options.has('follow');
  if (isFollow && options.has('previous'))
    throw new UsageError('--follow and --previous are mutually exclusive: the previous container has ended');
  const api = await openNodeApi(options);
  const { pods } = await readPods(api, signal, { safe: false });
  const named = pods.map((pod) => ({
    namespace: pod.metadata?.namespace ?? 'default',
    name: pod.metadata?.name ?? '',
    pod,
  }));
  const { name, namespace, pod } = findPod(named, parsed.argument ?? '', namespaceOption(options));
  const containers = chooseContainers(pod, options, output);
  const requests = containers.map(
    (container): LogRequest => ({
      container,
      query,
      path: `/containerLogs/${[namespace, name, container].map(encodeURIComponent).join('/')}`,
    }),
  );
  const print = async (request: LogRequest): Promise<void> => {
    const lines = logPipe(name, request.container, call, requests.length > 1 && isFollow);
    const timestamps = options.has('timestamps');
    try {
      if (isFollow)
        await followLog({
          api,
          request,
          timestamps,
          clock: realClock,
          print: lines.print,
          call,
          pod: { namespace, name },
        });
      else
        for await (const chunk of api.stream(pathOf(request, { timestamps }), signal))
          await lines.print(chunk);
    } finally {
      await lines.end();
    }
  };
  if (isFollow) await Promise.all(requests.map(print));
  else for (const request of requests) await print(request);
  return { exitCode: 0 };
}

function logQuery(options: ParsedCommand['options']): URLSearchParams {
  const query = new URLSearchParams();
  // As kubectl's: -1 is all.
  const tail = numberOption(options, 'tail', -1, mostLines);
  if (tail !== undefined && tail >= 0) query.set('tailLines', String(tail));
  const since = textOption(options, 'since');
  if (since !== undefined) query.set('sinceSeconds', String(sinceSeconds(since)));
  if (options.has('previous')) query.set('previous', 'true');
  return query;
}

function sinceSeconds(text: string): number {
  try {
    const seconds = Math.ceil(durationMs(parseDuration(text)) / 1000);
    if (seconds >= 1) return seconds;
  } catch {
    // Not a duration.
  }
  throw new UsageError(`--since is a positive duration such as 90s or 1h30m, not ${JSON.stringify(text)}`);
}

/** As kubectl: all, the named one, that of the annotation, or the first. */
function chooseContainers(
  pod: Pod,
  options: ParsedCommand['options'],
  output: CommandOutput,
): readonly string[] {
  const known = allContainers(pod).map(({ name }) => name);
  const regular = (pod.spec?.containers ?? []).map(({ name }) => name);
  const wanted = textOption(options, 'container');
  if (options.has('all-containers')) {
    if (wanted !== undefined) throw new UsageError('--container and --all-containers are mutually exclusive');
    return known;
  }
  if (wanted !== undefined) {
    if (known.includes(wanted)) return [wanted];
    const shown = known.map(safeText).join(', ');
    throw new KubeletError(
      'not-found',
      'NoContainer',
      `no container ${safeText(wanted)} in the pod; it has ${shown}`,
    );
  }
  const annotated = pod.metadata?.annotations?.[defaultContainer];
  const chosen = annotated !== undefined && known.includes(annotated) ? annotated : regular[0];
  if (chosen === undefined) throw new KubeletError('not-found', 'NoContainer', 'the pod has no container');
  if (known.length > 1 && chosen !== annotated)
    output.warn(`Defaulted container "${safeText(chosen)}" out of: ${known.map(safeText).join(', ')}\n`);
  return [chosen];
}

interface LogPipe {
  readonly print: (chunk: Uint8Array) => Promise<void>;
  readonly end: () => Promise<void>;
}

/** `byLine`: other logs are printed at the same time. */
function logPipe(
  pod: string,
  container: string,
  { output, parsed, signal }: CommandCall,
  byLine: boolean,
): LogPipe {
  const { options } = parsed;
  const prefix = options.has('prefix') ? `[pod/${safeText(pod)}/${safeText(container)}] ` : '';
  const grep = textOption(options, 'grep');
  const lines = byLine || prefix !== '' || grep !== undefined ? new LogLines({ grep, prefix }) : undefined;
  const isTerminal = output.columns() !== undefined && !options.has('raw');
  const terminal = isTerminal ? new TerminalLog() : undefined;
  const show = async (bytes: Uint8Array): Promise<void> => {
    const shown = terminal?.push(bytes) ?? bytes;
    if (shown.length > 0) await output.print(shown);
  };
  return {
    print: (chunk) => {
      // What a stream has buffered is not printed after Ctrl-C.
      signal.throwIfAborted();
      return show(lines?.push(chunk) ?? chunk);
    },
    end: async () => {
      if (lines !== undefined) await show(lines.end());
      const rest = terminal?.end() ?? '';
      if (rest !== '') await output.print(rest);
    },
  };
}
