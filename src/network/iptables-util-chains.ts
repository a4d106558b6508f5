// Keeps the kubelet's chains and rules in the host's iptables: creates them once at start, and again after a flush, such as a reload
// of firewalld. Upstream: initNetworkUtil in pkg/kubelet/kubelet_network_linux.go, Monitor in pkg/util/iptables.
// Invariants: start() waits for no program; a family that fails or hangs does not affect the other; the canaries of a family are
// created after its rules, so a canary means that its rules were complete; nothing is ever removed, not even at the stop.
import type { IpFamily, IpTables } from '../api/ports/iptables.ts';
import { untilAborted } from '../base/abort/race-abort.ts';
import type { Clock } from '../base/clock.ts';
import type { Component, LoopLoad } from '../base/component.ts';
import { describeError, isAbortOf, isKind } from '../base/errors.ts';
import { KeyedQueue } from '../base/keyed-queue.ts';
import type { Logger } from '../base/log/log.ts';
import { type CanaryState, computeFlush } from './compute-flush.ts';
import { canaries, utilParts } from './util-chains.ts';

interface IptablesUtilChainsDeps {
  readonly iptables: IpTables;
  readonly clock: Clock;
  readonly log: Logger;
}

/** `unsupported`: this host has no iptables of the family. `missing`: supported, and rules or canaries may be missing. */
type Phase = 'unsupported' | 'missing' | 'complete';

const families: readonly IpFamily[] = ['IPv4', 'IPv6'];
const checkPeriodMs = 60_000;
const flushPollMs = 100;
const backoff = { initialMs: 1_000, maxMs: 300_000 };

export class IptablesUtilChains implements Component {
  readonly name = 'iptables-util-chains';
  readonly #deps: IptablesUtilChainsDeps;
  readonly #queue: KeyedQueue<IpFamily>;
  /** Empty for a family that has not been probed. */
  readonly #phases = new Map<IpFamily, Phase>();
  /** The latest failure per family, which is logged once. */
  readonly #failures = new Map<IpFamily, string>();

  constructor(deps: IptablesUtilChainsDeps) {
    this.#deps = deps;
    this.#queue = new KeyedQueue<IpFamily>({
      clock: deps.clock,
      parallel: families.length,
      backoff,
      run: (family, signal) => this.#sync(family, signal),
      // differs from upstream, where a failed first attempt leaves the family without rules until the kubelet restarts, and a failed
      // later one until the next flush.
      onError: (family, err, retryInMs) =>
        this.#failed(family, 'Failed to initialize iptables rules; some functionality may be missing.', err, {
          retryInMs: Math.round(retryInMs),
        }),
    });
  }

  loopLoad(): LoopLoad {
    return this.#queue.load();
  }

  async start(signal: AbortSignal): Promise<{ readonly stopped: Promise<void> }> {
    for (const family of families) this.#queue.add(family);
    this.#queue.start();
    return { stopped: this.#stopAfter(signal) };
  }

  async #sync(family: IpFamily, signal: AbortSignal): Promise<void> {
    if (!this.#phases.has(family)) await this.#probe(family, signal);
    const phase = this.#phases.get(family);
    if (phase === 'unsupported') return;
    if (phase === 'missing') {
      await this.#create(family, signal);
      this.#deps.log.info('Initialized iptables rules.', { protocol: family });
    } else if (await this.#isFlushed(family, signal)) {
      this.#phases.set(family, 'missing');
      await this.#create(family, signal);
      this.#deps.log.info('Restored iptables rules after a flush', { protocol: family });
    }
    this.#queue.addAfter(family, checkPeriodMs);
  }

  async #probe(family: IpFamily, signal: AbortSignal): Promise<void> {
    const { iptables, log } = this.#deps;
    const reason = await iptables.missingReason(family, signal);
    this.#phases.set(family, reason === undefined ? 'missing' : 'unsupported');
    if (reason === undefined) return;
    log.v(2).info('Host does not support iptables of a family', { protocol: family, reason });
    if (families.every((each) => this.#phases.get(each) === 'unsupported'))
      log.info('No iptables support on this system; not creating the KUBE-IPTABLES-HINT chain');
  }

  async #create(family: IpFamily, signal: AbortSignal): Promise<void> {
    const { iptables } = this.#deps;
    for (const part of utilParts[family]) {
      if (part.kind === 'chain') await iptables.ensureChain(family, part, signal);
      else await iptables.ensureRule(family, part, signal);
    }
    for (const canary of canaries) await iptables.ensureChain(family, canary, signal);
    this.#phases.set(family, 'complete');
    this.#failures.delete(family);
  }

  async #isFlushed(family: IpFamily, signal: AbortSignal): Promise<boolean> {
    const { clock, log } = this.#deps;
    let seen = await this.#readCanaries(family, signal);
    const begunMs = clock.monotonic();
    for (;;) {
      const flush = computeFlush(seen, clock.monotonic() - begunMs);
      if (flush === 'partial') log.info('Inconsistent iptables state detected', { protocol: family });
      if (flush !== 'in-progress') return flush !== 'none';
      await clock.sleep(flushPollMs, signal);
      seen = await this.#readCanaries(family, signal);
    }
  }

  async #readCanaries(family: IpFamily, signal: AbortSignal): Promise<readonly CanaryState[]> {
    const { iptables } = this.#deps;
    const seen: CanaryState[] = [];
    for (const canary of canaries) {
      try {
        seen.push((await iptables.hasChain(family, canary, signal)) ? 'present' : 'absent');
      } catch (err) {
        if (isAbortOf(err, signal)) throw err;
        this.#failed(family, 'Could not check for iptables canary', err, { ...canary });
        seen.push('unknown');
      }
    }
    if (!seen.includes('unknown')) this.#failures.delete(family);
    return seen;
  }

  #failed(family: IpFamily, message: string, err: unknown, fields: Readonly<Record<string, unknown>>): void {
    const { log } = this.#deps;
    const all = { protocol: family, ...fields, err };
    const text = describeError(err);
    if (text === this.#failures.get(family)) log.v(2).info(message, all);
    // Another program holds the lock.
    else if (isKind(err, 'unavailable')) log.info(message, all);
    else log.error(message, all);
    this.#failures.set(family, text);
  }

  async #stopAfter(signal: AbortSignal): Promise<void> {
    await untilAborted(signal);
    this.#queue.abortAll();
    await this.#queue.stop();
  }
}
