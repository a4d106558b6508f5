// Reads pressure stall information. On a machine with v1 controllers the unified hierarchy beside it has it too, since
// runtimes put their processes there as well. Upstream: opencontainers/cgroups/fs2/psi.go.
import type { CgroupUsage, Pressure, PressureLine } from '../../api/ports/cgroup-usage.ts';
import type { KernelFiles } from './kernel-files.ts';

const none: PressureLine = { totalUs: 0, avg10: 0, avg60: 0, avg300: 0 };

function parsePressure(text: string): Pressure {
  return { some: lineOf(text, 'some'), full: lineOf(text, 'full') };
}

/** `directory` is a cgroup on v2. Undefined if the kernel has no pressure files for it. */
export function readPressure(files: KernelFiles, directory: string): CgroupUsage['pressure'] {
  const cpu = files.text(`${directory}/cpu.pressure`);
  if (cpu === undefined) return undefined;
  return {
    cpu: parsePressure(cpu),
    memory: parsePressure(files.text(`${directory}/memory.pressure`) ?? ''),
    io: parsePressure(files.text(`${directory}/io.pressure`) ?? ''),
  };
}

/** The pressure of the whole machine. */
export function readMachinePressure(
  files: KernelFiles,
  directory = '/proc/pressure',
): CgroupUsage['pressure'] {
  const cpu = files.text(`${directory}/cpu`);
  if (cpu === undefined) return undefined;
  return {
    cpu: parsePressure(cpu),
    memory: parsePressure(files.text(`${directory}/memory`) ?? ''),
    io: parsePressure(files.text(`${directory}/io`) ?? ''),
  };
}

function lineOf(text: string, kind: string): PressureLine {
  const line = text.split('\n').find((each) => each.startsWith(`${kind} `)) ?? '';
  const found = /^\w+ avg10=([\d.]+) avg60=([\d.]+) avg300=([\d.]+) total=(\d+)$/.exec(line);
  if (found === null) return none;
  const [avg10 = 0, avg60 = 0, avg300 = 0, totalUs = 0] = found.slice(1).map(Number);
  return { totalUs, avg10, avg60, avg300 };
}
