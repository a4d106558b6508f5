// kubelet top: what the node, its pods and their containers use.

import type { Hello, NodeView, PodRow, PodsChange, UsageSample } from '../../api/ports/node-page.ts';
import { withDeadline } from '../../base/abort/deadline.ts';
import { realClock } from '../../base/clock.ts';
import { isKind } from '../../base/errors.ts';
import type { NodeApi } from '../../edge/node-api/node-api.ts';
import { safeJson } from '../../terminal/safe-text.ts';
import {
  type NodeUsage,
  type SummaryAnswer,
  sortUsage,
  type UsageOrder,
  usageBetween,
  usageOfStream,
  usageTable,
} from '../../terminal/usage-table.ts';
import { type CommandCall, type CommandResult, UsageError } from './command-call.ts';
import { namespaceOption, openNodeApi, readJson, screenOf, textOption } from './node-client.ts';
import { watchScreen } from './watch-screen.ts';

const refreshMs = 2_000;
const streamMs = 5_000;
const sampleMs = 1_000;

export async function top({ output, parsed, signal }: CommandCall): Promise<CommandResult> {
  const { options } = parsed;
  const isJson = textOption(options, 'output') === 'json';
  if (isJson && options.has('watch')) throw new UsageError('--watch prints text, not JSON');
  const order = (textOption(options, 'sort') ?? 'cpu') as UsageOrder;
  const containers = options.has('containers');
  const namespace = namespaceOption(options);
  const reader = new UsageReader(await openNodeApi(options), { containers, safe: !isJson, signal });
  const read = async (): Promise<NodeUsage> => {
    const usage = await reader.read();
    const isShown = (name: string): boolean => namespace === undefined || name.startsWith(`${namespace}/`);
    return { ...usage, pods: usage.pods.filter(({ name }) => isShown(name)) };
  };
  const linesOf = (usage: NodeUsage): readonly string[] =>
    usageTable(usage, { order, containers, screen: screenOf(output) });
  const first = await read();
  if (isJson) return { stdout: safeJson(sortUsage(first, order)), exitCode: 0 };
  if (!options.has('watch')) return { stdout: `${linesOf(first).join('\n')}\n`, exitCode: 0 };
  return await watchScreen({
    first,
    read,
    linesOf,
    changesBetween: (_, after) => linesOf(after).filter((line) => line !== ''),
    clock: realClock,
    refreshMs,
    output,
    signal,
  });
}

interface ReaderOptions {
  readonly containers: boolean;
  readonly safe: boolean;
  readonly signal: AbortSignal;
}

/** Reads from the stream of the node's page if the kubelet has it, otherwise from /stats/summary. */
class UsageReader {
  readonly #api: NodeApi;
  readonly #options: ReaderOptions;
  #hasStream: boolean;
  #before: SummaryAnswer | undefined;

  constructor(api: NodeApi, options: ReaderOptions) {
    this.#api = api;
    this.#options = options;
    // The stream has no containers.
    this.#hasStream = !options.containers;
  }

  async read(): Promise<NodeUsage> {
    const streamed = this.#hasStream ? await this.#readStream() : undefined;
    if (streamed !== undefined) return streamed;
    this.#hasStream = false;
    if (this.#before === undefined) {
      this.#before = await this.#summary();
      await realClock.sleep(sampleMs, this.#options.signal);
    }
    const after = await this.#summary();
    const usage = usageBetween(this.#before, after);
    this.#before = after;
    return usage;
  }

  async #summary(): Promise<SummaryAnswer> {
    const { safe, signal } = this.#options;
    const text = await this.#api.get('/stats/summary?only_cpu_and_memory=true', signal);
    return readJson(text, safe) as SummaryAnswer;
  }

  async #readStream(): Promise<NodeUsage | undefined> {
    const { safe, signal } = this.#options;
    try {
      return await withDeadline(
        { clock: realClock, ms: streamMs, signal, what: 'the stream of the page' },
        (own) => streamedUsage(this.#api, own, safe),
      );
    } catch (err) {
      if (isKind(err, 'not-found') || isKind(err, 'forbidden') || isKind(err, 'timeout')) return undefined;
      throw err;
    }
  }
}

/** Until the first sample with CPU, which needs two measurements. */
async function streamedUsage(
  api: NodeApi,
  signal: AbortSignal,
  safe: boolean,
): Promise<NodeUsage | undefined> {
  let nodeName = '';
  let node: NodeView | undefined;
  const rows = new Map<string, PodRow>();
  for await (const { data, name } of api.events('/ui/api/stream', signal)) {
    if (name === 'hello') ({ nodeName } = readJson(data, safe) as Hello);
    if (name === 'node') node = readJson(data, safe) as NodeView;
    if (name === 'pods') {
      const change = readJson(data, safe) as PodsChange;
      for (const uid of change.gone) rows.delete(uid);
      for (const row of change.rows) rows.set(row.uid, row);
    }
    if (name !== 'usage') continue;
    const sample = readJson(data, safe) as UsageSample;
    if (sample.node[0] === null) continue;
    return usageOfStream({
      nodeName,
      rows: [...rows.values()],
      sample,
      cpuCapacityMillis: node?.cpu.capacityMillis,
      memoryCapacityBytes: node?.memory.capacityBytes,
    });
  }
  return undefined;
}
