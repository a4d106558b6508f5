// kubelet explain: why a pod is in its state, or which pods would be evicted.
import { withDeadline } from '../../base/abort/deadline.ts';
import { realClock } from '../../base/clock.ts';
import { isKind } from '../../base/errors.ts';
import { isObject } from '../../base/guards.ts';
import type { NodeApi } from '../../edge/node-api/node-api.ts';
import { type EvictionAnswer, evictionText } from '../../terminal/eviction-text.ts';
import { findPod } from '../../terminal/find-pod.ts';
import { type EndedPod, endView, plainPod } from '../../terminal/plain-pod.ts';
import { podReport, type ReportedPod } from '../../terminal/pod-report.ts';
import { safeJson } from '../../terminal/safe-text.ts';
import { type CommandCall, type CommandResult, UsageError } from './command-call.ts';
import {
  namesOf,
  namespaceOption,
  openNodeApi,
  readJson,
  readPods,
  screenOf,
  textOption,
} from './node-client.ts';

const streamMs = 5_000;
const mostEnds = 3;

export async function explain(call: CommandCall): Promise<CommandResult> {
  const { output, parsed, signal } = call;
  const { argument, options } = parsed;
  const isJson = textOption(options, 'output') === 'json';
  if (options.has('eviction') === (argument !== undefined))
    throw new UsageError('needs a POD, or --eviction');
  const api = await openNodeApi(options);
  if (argument === undefined) {
    const answer = readJson(await api.get('/explain/eviction', signal), !isJson);
    const text = isJson ? safeJson(answer) : lines(evictionText(answer as EvictionAnswer, screenOf(output)));
    return { stdout: text, exitCode: 0 };
  }
  const detail = await podDetail(api, argument, call, !isJson);
  const text = isJson ? safeJson(detail) : lines(podReport(detail, realClock.now(), screenOf(output)));
  return { stdout: text, exitCode: 0 };
}

function lines(texts: readonly string[]): string {
  return `${texts.join('\n')}\n`;
}

async function podDetail(
  api: NodeApi,
  argument: string,
  { parsed, signal }: CommandCall,
  safe: boolean,
): Promise<ReportedPod> {
  const node = await readPods(api, signal, { safe });
  const { name, namespace, uid } = findPod(namesOf(node), argument, namespaceOption(parsed.options));
  // The stream sends the ends of a pod later.
  const [detail, ends] = await Promise.all([
    streamedDetail(api, uid, signal, safe),
    lastEnds(api, `${namespace}/${name}`, signal, safe),
  ]);
  if (detail !== undefined)
    return { ...detail, ends: detail.ends.length > 0 ? detail.ends : ends.map(endView) };
  return plainPod(
    node.pods.find(({ metadata }) => metadata?.uid === uid),
    node.explained.find((each) => each.uid === uid),
    ends,
  );
}

/** Of the stream of the node's page; undefined if the kubelet does not serve it or does not know the pod. */
async function streamedDetail(
  api: NodeApi,
  uid: string,
  signal: AbortSignal,
  safe: boolean,
): Promise<ReportedPod | undefined> {
  const read = async (own: AbortSignal): Promise<ReportedPod | undefined> => {
    for await (const { data, name } of api.events(`/ui/api/stream?pod=${encodeURIComponent(uid)}`, own)) {
      if (name !== 'pod') continue;
      const detail = readJson(data, safe);
      return isObject(detail) ? (detail as unknown as ReportedPod) : undefined;
    }
    return undefined;
  };
  try {
    return await withDeadline(
      { clock: realClock, ms: streamMs, signal, what: 'the stream of the page' },
      read,
    );
  } catch (err) {
    if (isKind(err, 'not-found') || isKind(err, 'forbidden') || isKind(err, 'timeout')) return undefined;
    throw err;
  }
}

async function lastEnds(
  api: NodeApi,
  pod: string,
  signal: AbortSignal,
  safe: boolean,
): Promise<readonly EndedPod[]> {
  try {
    const path = `/explain/history?pod=${encodeURIComponent(pod)}&limit=${mostEnds}`;
    const { records } = readJson(await api.get(path, signal), safe) as {
      readonly records: readonly EndedPod[];
    };
    return records;
  } catch (err) {
    // Not on the read-only port, or not recorded, or another permission.
    if (isKind(err, 'not-found') || isKind(err, 'forbidden')) return [];
    throw err;
  }
}
