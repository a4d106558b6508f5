// Reports the state files that could not be used: one event on the Node and one log line per file. The managers find the faults
// while they restore their state; `reporter` starts after the recorder of events.
// Invariants: a file is reported once, however often it is added; a fault that is added after the start is reported at once.
// Upstream has no counterpart: it does not start with such a file.
import type { EventText } from '../../api/ports/events.ts';
import { untilAborted } from '../../base/abort/race-abort.ts';
import type { Component } from '../../base/component.ts';
import type { Logger } from '../../base/log/log.ts';
import type { CheckpointFault } from './kept-checkpoint.ts';

interface ReporterDeps {
  readonly events: { node(event: EventText): void };
  readonly log: Logger;
}

export class CheckpointFaults {
  /** By path. */
  readonly #faults = new Map<string, CheckpointFault>();
  #report: ((fault: CheckpointFault) => void) | undefined;

  add(fault: CheckpointFault): void {
    if (this.#faults.has(fault.path)) return;
    this.#faults.set(fault.path, fault);
    this.#report?.(fault);
  }

  /** Started after the managers whose faults it reports. */
  reporter({ events, log }: ReporterDeps): Component {
    const report = (fault: CheckpointFault): void => {
      const { path, setAside, usedPrevious, why } = fault;
      log.error('Recovered from a damaged state file', { path, err: why, setAside, usedPrevious });
      events.node({ type: 'Warning', reason: 'ManagerStateRecovered', message: faultMessage(fault) });
    };
    return {
      name: 'checkpoint-faults',
      start: async (signal) => {
        for (const fault of this.#faults.values()) report(fault);
        this.#report = report;
        return { stopped: untilAborted(signal) };
      },
    };
  }
}

function faultMessage({ path, setAside, usedPrevious, why }: CheckpointFault): string {
  const state = usedPrevious ? 'its predecessor is used instead' : 'its state is rebuilt';
  return `Could not restore state from ${path}: ${why}. The file was kept as ${setAside}; ${state}.`;
}
