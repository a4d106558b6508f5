// kubelet history: why containers and pods ended.
import { isKind, KubeletError } from '../../base/errors.ts';
import type { NodeApi } from '../../edge/node-api/node-api.ts';
import { findPod, splitName } from '../../terminal/find-pod.ts';
import { historyText } from '../../terminal/history-text.ts';
import type { EndedPod } from '../../terminal/plain-pod.ts';
import { safeJson } from '../../terminal/safe-text.ts';
import type { CommandCall, CommandResult } from './command-call.ts';
import {
  namesOf,
  namespaceOption,
  numberOption,
  openNodeApi,
  readJson,
  readPods,
  screenOf,
  textOption,
} from './node-client.ts';

const defaultLimit = 20;
const mostRecords = 1000;

interface HistoryAnswer {
  readonly records: readonly EndedPod[];
  /** Whether there are older ones. */
  readonly more: boolean;
}

export async function history(call: CommandCall): Promise<CommandResult> {
  const { output, parsed, signal } = call;
  const { argument, options } = parsed;
  const isJson = textOption(options, 'output') === 'json';
  const limit = numberOption(options, 'limit', 1, mostRecords) ?? defaultLimit;
  const namespace = namespaceOption(options);
  const api = await openNodeApi(options);
  const read = (query: string): Promise<HistoryAnswer> => readHistory(api, query, signal, !isJson);
  const answer = await chosen();
  const text = isJson
    ? safeJson(answer)
    : `${historyText(answer.records, { lines: argument !== undefined || options.has('lines'), screen: screenOf(output) }).join('\n')}\n`;
  if (!isJson && answer.more) output.warn(`There are older ends: --limit shows up to ${mostRecords}.\n`);
  return { stdout: text, exitCode: 0 };

  async function chosen(): Promise<HistoryAnswer> {
    if (argument !== undefined) {
      const pod = await podName(api, argument, namespace, signal, read);
      return await read(`pod=${encodeURIComponent(pod)}&limit=${limit}`);
    }
    if (namespace === undefined) return await read(`limit=${limit}`);
    // The kubelet selects by pod only.
    const all = await read(`limit=${mostRecords}`);
    const records = all.records.filter((each) => each.namespace === namespace);
    return { records: records.slice(0, limit), more: all.more || records.length > limit };
  }
}

async function readHistory(
  api: NodeApi,
  query: string,
  signal: AbortSignal,
  safe: boolean,
): Promise<HistoryAnswer> {
  try {
    return readJson(await api.get(`/explain/history?${query}`, signal), safe) as HistoryAnswer;
  } catch (err) {
    if (!isKind(err, 'not-found')) throw err;
    const why =
      'this kubelet does not serve its history here: it is off (--history-max-size=0), or this is the read-only port';
    throw new KubeletError('not-found', 'NoHistory', why);
  }
}

/** A pod of the node, or one that is gone and has records. */
async function podName(
  api: NodeApi,
  argument: string,
  namespace: string | undefined,
  signal: AbortSignal,
  read: (query: string) => Promise<HistoryAnswer>,
): Promise<string> {
  const [node, { records }] = await Promise.all([
    readPods(api, signal, { safe: false }),
    read(`limit=${mostRecords}`),
  ]);
  const names = new Map(
    [...namesOf(node), ...records.map((each) => ({ namespace: each.namespace, name: each.pod }))].map(
      (each) => [`${each.namespace}/${each.name}`, { namespace: each.namespace, name: each.name }],
    ),
  );
  try {
    const found = findPod([...names.values()], argument, namespace);
    return `${found.namespace}/${found.name}`;
  } catch (err) {
    // Its records may be older than those that were read.
    const { name, within } = splitName(argument, namespace);
    if (within !== undefined && isKind(err, 'not-found')) return `${within}/${name}`;
    throw err;
  }
}
