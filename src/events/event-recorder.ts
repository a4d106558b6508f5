// Records events about pods and the node: correlates them, keeps the last ones for /explain, logs them, and sends them to the
// API server if there is one.
// Upstream: client-go/tools/record (EventBroadcaster, EventRecorder), set up in cmd/kubelet/app/server.go.
// Invariant: recording an event never blocks and never throws, whatever the API server does.

import type { Event, ObjectReference, Pod } from '../api/k8s/types.ts';
import type { EventSink, EventText, ObjectEvents } from '../api/ports/events.ts';
import { untilAborted } from '../base/abort/race-abort.ts';
import type { Clock } from '../base/clock.ts';
import type { Component } from '../base/component.ts';
import { Aborted } from '../base/errors.ts';
import type { Logger } from '../base/log/log.ts';
import { TokenBucket } from '../base/rate-limit.ts';
import { Correlator } from './correlator.ts';
import { EventHistory, type PastEvent } from './event-history.ts';
import { makeEvent, nodeReference, podReference } from './event-object.ts';
import { type EventPost, EventSender } from './event-sender.ts';

interface EventRecorderDeps {
  /** Undefined on a standalone node. */
  readonly post: EventPost | undefined;
  readonly nodeName: string;
  /** The UID of the Node object; undefined while it is unknown. */
  readonly nodeUid: () => string | undefined;
  /** Events per second, and in one burst; read for each event. A qps of 0 means unlimited. */
  readonly rate: { readonly qps: number; readonly burst: number };
  readonly clock: Clock;
  readonly log: Logger;
  /** In [0, 1): spreads the first retries of many nodes. */
  readonly random: () => number;
}

/** How long a stopping kubelet keeps sending the queued events. */
const drainMs = 2_000;
const nanosPerMs = 1_000_000n;

export class EventRecorder implements EventSink, ObjectEvents, Component {
  readonly name = 'events';
  readonly #deps: EventRecorderDeps;
  readonly #correlator: Correlator;
  readonly #history = new EventHistory();
  readonly #sender: EventSender | undefined;
  #lastNanos = 0n;

  constructor(deps: EventRecorderDeps) {
    this.#deps = deps;
    const { post, clock, log, rate, random } = deps;
    this.#correlator = new Correlator(clock);
    if (post === undefined) return;
    const bucket = new TokenBucket({
      clock,
      get qps() {
        return rate.qps;
      },
      get burst() {
        return rate.burst;
      },
    });
    this.#sender = new EventSender({ post, bucket, clock, log, random });
  }

  pod(pod: Pod, event: EventText, fieldPath?: string): void {
    this.#record(podReference(pod, fieldPath), event, pod.metadata?.uid ?? '');
  }

  node(event: EventText): void {
    const { nodeName, nodeUid } = this.#deps;
    this.#record(nodeReference(nodeName, nodeUid()), event, nodeName);
  }

  object(reference: ObjectReference, event: EventText): void {
    this.#record(reference, event, reference.uid ?? '');
  }

  /** The last events of a pod or another object, oldest first; those of the node under its name. */
  recent(uid: string): readonly PastEvent[] {
    return this.#history.recent(uid);
  }

  async start(signal: AbortSignal): Promise<{ readonly stopped: Promise<void> }> {
    const sender = this.#sender;
    if (sender === undefined) return { stopped: untilAborted(signal) };
    return { stopped: this.#send(sender, signal) };
  }

  async #send(sender: EventSender, signal: AbortSignal): Promise<void> {
    const { clock } = this.#deps;
    const life = new AbortController();
    const running = sender.run(signal, life.signal);
    await untilAborted(signal);
    const timer = clock.setTimer(drainMs, () => life.abort(new Aborted('the kubelet is stopping')));
    await running;
    timer.cancel();
  }

  #record(object: ObjectReference, text: EventText, historyKey: string): void {
    const { clock, nodeName } = this.#deps;
    const event = makeEvent({ object, text, nodeName, nowMs: clock.now(), unixNanos: this.#nextNanos() });
    this.#log(event);
    const correlated = this.#correlator.correlate(event);
    this.#history.put(historyKey, correlated.event);
    if (!correlated.spam) this.#sender?.add(correlated);
  }

  #log(event: Event): void {
    const { log, post } = this.#deps;
    const { kind, namespace, name, fieldPath } = event.involvedObject;
    const object = namespace === undefined ? name : `${namespace}/${name}`;
    const { type, reason, message } = event;
    // Without an API server, the log is where operators find events.
    log
      .v(post === undefined ? 2 : 3)
      .info('Event occurred', { object, fieldPath, kind, type, reason, message });
  }

  /** Unique, also for events of the same millisecond and after the clock was set back: event names are built from it. */
  #nextNanos(): bigint {
    const nanos = BigInt(Math.trunc(this.#deps.clock.now())) * nanosPerMs;
    this.#lastNanos = nanos > this.#lastNanos ? nanos : this.#lastNanos + 1n;
    return this.#lastNanos;
  }
}
