// Reports everything that a start had to change in a state file as one event of the node and one log line.
// Invariant: one event per start, when the fate of all affected pods is known or after two minutes.

import type { PodUid } from '../../api/pod/pod-ref.ts';
import type { EventSink } from '../../api/ports/events.ts';
import type { Clock, Timer } from '../../base/clock.ts';
import type { Logger } from '../../base/log/log.ts';

interface RecoveryReportDeps {
  readonly events: Pick<EventSink, 'node'>;
  readonly log: Logger;
  readonly clock: Pick<Clock, 'setTimer'>;
}

interface Recovery {
  /** `CPU manager`. */
  readonly manager: string;
  readonly path: string;
  readonly why: string;
  readonly setAside: string;
  /** The file before the last write replaced the damaged one. */
  readonly usedPrevious: boolean;
}

interface Affected {
  readonly uid: PodUid;
  readonly container: string;
  readonly detail: string;
}

const patienceMs = 120_000;
/** Containers that each list of the message names, since the length of messages is limited. The log has all. */
const mostNamed = 5;

export class RecoveryReport {
  readonly #deps: RecoveryReportDeps;
  #recovery: Recovery | undefined;
  #timer: Timer | undefined;
  readonly #waitsFor = new Set<PodUid>();
  readonly #names = new Map<PodUid, string>();
  readonly #moved: Affected[] = [];
  #unplaced: readonly Affected[] = [];
  readonly #notUpdated: Affected[] = [];
  #adopted = 0;
  #unpinned = 0;

  constructor(deps: RecoveryReportDeps) {
    this.#deps = deps;
  }

  /** Whether the event is still to be emitted. */
  get isOpen(): boolean {
    return this.#recovery !== undefined;
  }

  /** The event waits until these pods were admitted or removed. */
  open(recovery: Recovery, pods: Iterable<PodUid>): void {
    this.#recovery = recovery;
    for (const uid of pods) this.#waitsFor.add(uid);
    this.#timer = this.#deps.clock.setTimer(patienceMs, () => this.close());
    this.#closeIfSettled();
  }

  moved(uid: PodUid, container: string, from: string | undefined, to: string): void {
    this.#unplaced = this.#unplaced.filter((each) => !isSame(each, uid, container));
    this.#moved.push({ uid, container, detail: `${from === undefined ? '' : `${from} `}to ${to}` });
  }

  /** The container has no exclusive CPUs, although it is promised some. */
  unplaced(uid: PodUid, container: string): void {
    if (!this.#unplaced.some((each) => isSame(each, uid, container)))
      this.#unplaced = [...this.#unplaced, { uid, container, detail: '' }];
  }

  /** A container keeps the CPUs on which it runs. */
  adopted(): void {
    this.#adopted += 1;
  }

  /** So many containers have all CPUs again. */
  unpinned(count: number): void {
    this.#unpinned += count;
  }

  /** The container could not be given all CPUs again. */
  notUpdated(uid: PodUid, container: string): void {
    this.#notUpdated.push({ uid, container, detail: '' });
  }

  /** The pod was admitted, removed or rejected: nothing more will happen to it. */
  settled(uid: PodUid, name?: string): void {
    if (name !== undefined && this.isOpen) this.#names.set(uid, name);
    if (this.#waitsFor.delete(uid)) this.#closeIfSettled();
  }

  #closeIfSettled(): void {
    if (this.#waitsFor.size === 0) this.close();
  }

  close(): void {
    const recovery = this.#recovery;
    this.#timer?.cancel();
    if (recovery === undefined) return;
    this.#recovery = undefined;
    const { events, log } = this.#deps;
    const message = this.#message(recovery);
    events.node({ type: 'Warning', reason: 'ManagerStateRecovered', message });
    log.warn('Recovered the state of a resource manager', {
      path: recovery.path,
      why: recovery.why,
      setAside: recovery.setAside,
      adopted: this.#adopted,
      unpinned: this.#unpinned,
      moved: this.#moved.map((each) => this.#text(each)),
      withoutExclusive: this.#unplaced.map((each) => this.#text(each)),
      notUpdated: this.#notUpdated.map((each) => this.#text(each)),
    });
  }

  #message({ manager, path, setAside, usedPrevious, why }: Recovery): string {
    return [
      `The ${manager} could not use ${path} as it was: ${why}. It was set aside as ${setAside}.`,
      usedPrevious ? ' The state before the last write was used.' : '',
      this.#adopted === 0 ? '' : ` Containers that keep their CPUs: ${this.#adopted}.`,
      this.#unpinned === 0 ? '' : ` Containers with all CPUs again: ${this.#unpinned}.`,
      this.#list('Moved', this.#moved),
      this.#list('Without exclusive CPUs', this.#unplaced),
      this.#list('Still on their former CPUs', this.#notUpdated),
    ].join('');
  }

  #list(title: string, all: readonly Affected[]): string {
    if (all.length === 0) return '';
    const named = all.slice(0, mostNamed).map((each) => this.#text(each));
    const more = all.length > mostNamed ? ` and ${all.length - mostNamed} more` : '';
    return ` ${title}: ${named.join(', ')}${more}.`;
  }

  #text({ container, detail, uid }: Affected): string {
    const name = `${this.#names.get(uid) ?? `pod ${uid}`}, container ${container}`;
    return detail === '' ? `(${name})` : `(${name}: ${detail})`;
  }
}

function isSame(each: Affected, uid: PodUid, container: string): boolean {
  return each.uid === uid && each.container === container;
}
