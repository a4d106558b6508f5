// The one place where events go: correlated, kept for explaining, logged, and sent when there is an API server.
// Upstream: client-go/tools/record (EventBroadcaster, EventRecorder), set up in cmd/kubelet/app/server.go.
// Invariant: telling an event never waits and never throws, whatever the API server does.

import type { Event, ObjectReference, Pod } from '../api/k8s/types.ts';
import type { EventSink, EventText } from '../api/ports/events.ts';
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
  /** Undefined on a node without an API server. */
  readonly post: EventPost | undefined;
  readonly nodeName: string;
  /** Sent per second, and at once. A qps of 0 is unlimited. */
  readonly rate: { readonly qps: number; readonly burst: number };
  readonly clock: Clock;
  readonly log: Logger;
  /** In [0, 1): spreads the first retries of many nodes. */
  readonly random: () => number;
}

/** How long a stopping kubelet goes on telling what is left. */
const drainMs = 2_000;
const nanosPerMs = 1_000_000n;

export class EventRecorder implements EventSink, Component {
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
    const bucket = new TokenBucket({ clock, qps: rate.qps, burst: rate.burst });
    this.#sender = new EventSender({ post, bucket, clock, log, random });
  }

  pod(pod: Pod, event: EventText, fieldPath?: string): void {
    this.#record(podReference(pod, fieldPath), event);
  }

  node(event: EventText): void {
    this.#record(nodeReference(this.#deps.nodeName), event);
  }

  /** What was last said about a pod, oldest first; about the node under its name. */
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
    const timer = clock.setTimer(drainMs, () => life.abort(new Aborted('the kubelet stops')));
    await running;
    timer.cancel();
  }

  #record(object: ObjectReference, text: EventText): void {
    const { clock, nodeName } = this.#deps;
    const event = makeEvent({ object, text, nodeName, nowMs: clock.now(), unixNanos: this.#nextNanos() });
    this.#log(event);
    const correlated = this.#correlator.correlate(event);
    this.#history.put(correlated.event);
    if (!correlated.spam) this.#sender?.add(correlated);
  }

  #log(event: Event): void {
    const { log, post } = this.#deps;
    const { kind, namespace, name, fieldPath } = event.involvedObject;
    const object = namespace === undefined ? name : `${namespace}/${name}`;
    const { type, reason, message } = event;
    // Without an API server the log is the only place where everybody can read it.
    log
      .v(post === undefined ? 2 : 3)
      .info('Event occurred', { object, fieldPath, kind, type, reason, message });
  }

  /** Two events of one millisecond, or of one that came twice since the clock was set back, have different names. */
  #nextNanos(): bigint {
    const nanos = BigInt(Math.trunc(this.#deps.clock.now())) * nanosPerMs;
    this.#lastNanos = nanos > this.#lastNanos ? nanos : this.#lastNanos + 1n;
    return this.#lastNanos;
  }
}
