// The kernel's memory signals, sent by the test. Invariant: a closed watch is never called, as with the real one.
import type { Edges } from '../../src/assemble/input.ts';
import { KubeletError } from '../../src/base/errors.ts';

type Watch = Edges['memoryPressure']['watch'];
type Request = Parameters<Watch>[0];

export class FakeMemoryWatches {
  /** Open watches, oldest first, with their current threshold. */
  readonly open: { readonly cgroup: string; usageBytes: number; readonly request: Request }[] = [];
  /** Makes the machine unable to signal. */
  unavailable = false;
  /** Cgroups that do not exist, or kernel features that are missing. */
  readonly missing = new Set<string>();

  async watch(request: Request): ReturnType<Watch> {
    if (this.unavailable) throw new KubeletError('unavailable', 'NoMemorySignals', 'cannot watch memory');
    const { cgroup, usageBytes } = request;
    if (this.missing.has(cgroup)) throw new KubeletError('not-found', 'ENOENT', `cannot watch ${cgroup}`);
    const entry = { cgroup, usageBytes, request };
    this.open.push(entry);
    return {
      rearm: (bytes) => {
        entry.usageBytes = bytes;
      },
      close: () => {
        const at = this.open.indexOf(entry);
        if (at !== -1) this.open.splice(at, 1);
      },
    };
  }

  /** Signals all watches of a cgroup. */
  signal(cgroup = '/'): void {
    for (const { request } of this.open.filter((each) => each.cgroup === cgroup)) request.onSignal();
  }
}
