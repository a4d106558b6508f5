// A shutdown manager on a fake logind and the fake clock, with pods that end as a test wants. Everything is recorded in `log`
// with the second at which it happened.
import type { Pod } from '../../src/api/k8s/types.ts';
import { isActivePod } from '../../src/api/pod/active-pod.ts';
import type { PodLifecycle } from '../../src/api/pod/pod-lifecycle.ts';
import { type PodUid, podUid } from '../../src/api/pod/pod-ref.ts';
import type { PodKill } from '../../src/api/ports/pod-kill.ts';
import { Channel } from '../../src/base/channel.ts';
import { startComponent } from '../../src/base/component.ts';
import { Verbosity } from '../../src/base/log/log.ts';
import { textLogger } from '../../src/base/log/log-text.ts';
import type { ShutdownPeriods } from '../../src/shutdown/grace-groups.ts';
import { NodeShutdown } from '../../src/shutdown/node-shutdown.ts';
import { ShutdownManager } from '../../src/shutdown/shutdown-manager.ts';
import { ShutdownRecord } from '../../src/shutdown/shutdown-record.ts';
import { FakeClock } from '../fakes/fake-clock.ts';
import { FakeLogind } from '../fakes/fake-logind.ts';
import { anObservedPod, aPod, type PodOver } from './builders.ts';

/** How a pod reacts, in seconds: when it ends by itself, how long SIGKILL and its volumes take, when its status arrives. */
interface Manners {
  readonly endsAfter?: number;
  readonly dies?: number;
  readonly unmounts?: number;
  readonly reports?: number;
}

const syncing: PodLifecycle = {
  state: 'syncing',
  startedAtMs: 0,
  waiting: {},
  explain: '',
  explainSinceMs: 0,
};
const statePath = '/state';

export class ShutdownRig {
  readonly clock = new FakeClock();
  readonly logind = new FakeLogind();
  readonly state = new NodeShutdown();
  /** `3.5 kill web 10`. */
  readonly history: string[] = [];
  readonly events: string[] = [];
  readonly logLines: string[] = [];
  readonly kills = new Map<string, PodKill>();
  readonly files = new Map<string, string>();
  readonly metrics = { startedAtMs: -1, endedAtMs: -1 };
  periods: ShutdownPeriods = { byPriority: [], totalMs: 30_000, criticalMs: 10_000 };
  sourcesReady = true;
  readonly sourcesReadyChanged = new Channel<void>();
  /** The API server does not answer: no status arrives. */
  apiIsDown = false;
  manager: ShutdownManager | undefined;
  readonly #pods = new Map<
    PodUid,
    { readonly pod: Pod; readonly manners: Manners; lifecycle: PodLifecycle | undefined }
  >();
  readonly #reported = new Set<PodUid>();
  readonly #changed = new Channel<PodUid>();
  #life: AbortController | undefined;
  #stopped: Promise<void> = Promise.resolve();

  constructor() {
    this.logind.onProceed = () => this.#record('proceed');
  }

  /** A pod that runs. */
  add(name: string, manners: Manners = {}, over: PodOver = {}): void {
    const pod = aPod({ name, ...over });
    this.#pods.set(podUid(pod), { pod, manners, lifecycle: syncing });
    this.#changed.push(podUid(pod));
  }

  async start(): Promise<void> {
    const life = new AbortController();
    this.#life = life;
    this.manager = this.#assemble();
    const started = startComponent(this.manager, life.signal);
    const { stopped } = await this.clock.until(started, 10_000);
    this.#stopped = stopped;
    await this.clock.advance(0);
  }

  async stop(): Promise<void> {
    this.#life?.abort();
    await this.clock.until(this.#stopped, 60_000);
  }

  logged(part: string): readonly string[] {
    return this.logLines.filter((line) => line.includes(part));
  }

  stateFile(): unknown {
    const text = this.files.get(statePath);
    return text === undefined ? undefined : JSON.parse(text);
  }

  writeState(startedAtMs: number): void {
    const startTime = new Date(startedAtMs).toISOString();
    this.files.set(statePath, JSON.stringify({ startTime, endTime: '0001-01-01T00:00:00Z' }));
  }

  #record(what: string): void {
    this.history.push(`${this.clock.monotonic() / 1_000} ${what}`);
  }

  #assemble(): ShutdownManager {
    const { clock, logind, metrics, state } = this;
    const log = textLogger({
      write: (line) => void this.logLines.push(line),
      clock,
      verbosity: new Verbosity(2),
      pid: 1,
    });
    const all = () => [...this.#pods.values()];
    return new ShutdownManager({
      logind,
      periods: () => this.periods,
      state,
      record: new ShutdownRecord({
        files: {
          read: async (path) => this.files.get(path),
          write: async (path, text) => void this.files.set(path, text),
        },
        path: statePath,
        metrics: {
          started: (atMs) => void (metrics.startedAtMs = atMs),
          ended: (atMs) => void (metrics.endedAtMs = atMs),
        },
        clock,
        log,
      }),
      active: {
        all: () => all().flatMap(({ lifecycle, pod }) => (isActivePod(pod, lifecycle) ? [pod] : [])),
        changed: this.#changed,
      },
      lifecycles: { get: (uid) => this.#pods.get(uid)?.lifecycle, changed: this.#changed },
      observed: { get: (uid) => (this.#pods.has(uid) ? anObservedPod() : undefined) },
      kills: { kill: (uid, kill) => this.#kill(uid, kill) },
      desired: { sourcesReady: () => this.sourcesReady, ready: this.sourcesReadyChanged },
      reports: { hasReportedEnd: (uid) => this.#reported.has(uid) },
      events: { node: ({ message, reason, type }) => void this.events.push(`${type} ${reason}: ${message}`) },
      clock,
      log,
    });
  }

  async #kill(uid: PodUid, kill: PodKill): Promise<void> {
    const entry = this.#pods.get(uid);
    if (entry === undefined) return;
    const name = entry.pod.metadata?.name ?? '';
    this.#record(`kill ${name} ${kill.graceSeconds}`);
    this.kills.set(name, kill);
    const { dies = 0, endsAfter = 0, reports = 0, unmounts = 0 } = entry.manners;
    const put = (lifecycle: PodLifecycle): void => {
      entry.lifecycle = lifecycle;
      this.#changed.push(uid);
    };
    put({ state: 'terminating', startedAtMs: 0, graceSeconds: 0, sinceMs: 0, why: '', explain: '', kill });
    const graceSeconds = Math.max(1, kill.graceSeconds ?? 30);
    await this.clock.sleep(Math.min(endsAfter, graceSeconds + dies) * 1_000);
    this.#record(`ended ${name}`);
    put({ state: 'terminated', startedAtMs: 0, atMs: 0, kill, cleaned: false });
    this.clock.setTimer(reports * 1_000, () => {
      if (this.apiIsDown) return;
      this.#record(`reported ${name}`);
      this.#reported.add(uid);
    });
    await this.clock.sleep(unmounts * 1_000);
    put({ state: 'terminated', startedAtMs: 0, atMs: 0, kill, cleaned: true });
  }
}
