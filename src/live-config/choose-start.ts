// Chooses what the first kubelet of a process runs, from the files and from what the last process left on disk.
import type { Logger } from '../base/log/log.ts';
import type { Candidate, LiveConfigDeps, LoadResult } from './candidate.ts';
import type { ConfigStatus } from './config-status.ts';
import type { ConfigContent } from './content.ts';
import { computeStart } from './decide-start.ts';
import type { Journal } from './journal.ts';
import type { StateFiles } from './state-files.ts';

interface StartDeps<Run> extends Pick<LiveConfigDeps<Run>, 'load' | 'compare'> {
  readonly status: ConfigStatus;
  readonly state: StateFiles;
  readonly log: Logger;
}

interface Start<Run> {
  /** Undefined: there is nothing to run. */
  readonly candidate: Candidate<Run> | undefined;
  readonly isOnTrial: boolean;
  readonly lastKnownGood: Candidate<Run> | undefined;
}

export async function chooseStart<Run>(
  deps: StartDeps<Run>,
  journal: Journal,
  first: LoadResult<Run>,
): Promise<Start<Run>> {
  const saved = await deps.state.load();
  deps.status.restore(saved.history);
  journal.restore(saved.marker);
  const lastKnownGood = await loadLastKnownGood(deps, saved.lastKnownGood);
  const decision = computeStart({
    files: { checksum: first.checksum, isValid: first.kind === 'valid' },
    lastKnownGood: lastKnownGood?.checksum,
    marker: saved.marker,
  });
  if (lastKnownGood !== undefined && decision.run === 'last-known-good') {
    const changes = first.kind === 'invalid' ? [] : deps.compare(lastKnownGood.run, first.run);
    await journal.startedWithout(first, lastKnownGood, { because: decision.because, changes });
    return { candidate: lastKnownGood, isOnTrial: false, lastKnownGood };
  }
  if (first.kind === 'invalid') return { candidate: undefined, isOnTrial: false, lastKnownGood };
  journal.assigned(first);
  const isOnTrial = decision.run === 'files' && decision.onTrial;
  if (isOnTrial) {
    const changes = lastKnownGood === undefined ? [] : deps.compare(lastKnownGood.run, first.run);
    await journal.trying(first, changes, 'on-trial');
  }
  return { candidate: first, isOnTrial, lastKnownGood };
}

async function loadLastKnownGood<Run>(
  { load, log, status }: StartDeps<Run>,
  content: ConfigContent | undefined,
): Promise<Candidate<Run> | undefined> {
  if (content === undefined) return undefined;
  const loaded = await load(content);
  if (loaded.kind === 'valid') {
    status.setCurrent({ lastKnownGood: loaded.checksum });
    return loaded;
  }
  const { checksum, problems } = loaded;
  log.error('Ignoring the last known good configuration, it is not valid', { checksum, problems });
  return undefined;
}
