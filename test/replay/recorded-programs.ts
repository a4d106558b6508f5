// What the scripts of some recordings do, which the fake runtime's shell does not know.

import type { Program } from '../fake-cri/process.ts';
import { findProgram } from '../fake-cri/programs.ts';
import type { FakeVolumeHost } from '../fakes/fake-volume-host.ts';

type ProgramOf = (volumes: FakeVolumeHost) => Program;

const forever: ProgramOf = () => (process) => process.forever();

/** By script. */
const programs: Readonly<Record<string, ProgramOf>> = {
  'ls /img/bin/busybox && sleep 100000': forever,
  // Writes a file of the pod's volume, for the environment of the next container.
  [`echo "A='one two'" > /e/env`]: (volumes) => async () => {
    const volume = [...volumes.entries.keys()].find((path) => path.endsWith('kubernetes.io~empty-dir/e'));
    if (volume === undefined) return 1;
    await volumes.writeContent(
      volume,
      new Map([['env', { data: Buffer.from("A='one two'\n"), mode: 0o644 }]]),
    );
    return 0;
  },
  'test -f /e/x && sleep 100000; touch /e/x; sleep 3; exit 42': () => {
    let isFirst = true;
    return async (process) => {
      if (!isFirst) return await process.forever();
      isFirst = false;
      await process.sleep(3_000);
      return 42;
    };
  },
};

/** Undefined for a command that does not exist. */
export function recordedProgram(command: readonly string[], volumes: FakeVolumeHost): Program | undefined {
  const own = command[0] === 'sh' ? programs[command[2] ?? ''] : undefined;
  if (own !== undefined) return own(volumes);
  const found = findProgram(command);
  return 'program' in found ? found.program : undefined;
}
