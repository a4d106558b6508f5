// Recognises in the kernel's log that a process was killed for lack of memory. Pure.
// Upstream: cadvisor's utils/oomparser. Invariant: what is recognised, and what it says, is what cadvisor would.

export interface OomKill {
  readonly processName: string;
  /** 0: the kernel did not say. */
  readonly pid: number;
  /** The cgroup whose limit was met; `/`: the machine itself is out of memory. */
  readonly limitedCgroup: string;
  /** The cgroup of the process that was killed. */
  readonly cgroup: string;
  /** CONSTRAINT_NONE, CONSTRAINT_CPUSET, CONSTRAINT_MEMORY_POLICY, CONSTRAINT_MEMCG; empty before Linux 5.0. */
  readonly constraint: string;
}

const firstLine = /invoked oom-killer:/;
const sinceLinux5 =
  /oom-kill:constraint=(.*),nodemask=(.*),cpuset=(.*),mems_allowed=(.*),oom_memcg=(.*),task_memcg=(.*),task=(.*),pid=(.*),uid=(.*)/;
/** Without a limit of a cgroup the line has another form, and tells only whose process it was. */
const globalSinceLinux5 = /oom-kill:constraint=([^,]*),.*,global_oom,task_memcg=([^,]*),/;
const beforeLinux5 = /Task in (.*) killed as a result of limit of (.*)/;
const lastLine = /Killed process ([0-9]+) \((.+)\)/;

const unknown: OomKill = { processName: '', pid: 0, limitedCgroup: '/', cgroup: '/', constraint: '' };

/** Fed one message after the other; tells a kill with the message that completes it. */
export class OomReader {
  #open: OomKill | undefined;

  read(message: string): OomKill | undefined {
    if (this.#open === undefined) {
      if (firstLine.test(message)) this.#open = unknown;
      return undefined;
    }
    const [more, isComplete] = readLine(this.#open, message);
    this.#open = isComplete ? undefined : more;
    return isComplete ? more : undefined;
  }
}

function readLine(known: OomKill, message: string): readonly [OomKill, boolean] {
  const whole = sinceLinux5.exec(message);
  if (whole !== null) {
    const [, constraint = '', , , , limitedCgroup = '', cgroup = '', processName = '', pid = ''] = whole;
    if (/^\d+$/.test(pid))
      return [{ processName, pid: Number(pid), limitedCgroup, cgroup, constraint }, true];
  }
  const [, constraint, task] = globalSinceLinux5.exec(message) ?? [];
  if (constraint !== undefined && task !== undefined) return [{ ...known, constraint, cgroup: task }, false];
  const [, cgroup, limitedCgroup] = beforeLinux5.exec(message) ?? [];
  if (cgroup !== undefined && limitedCgroup !== undefined)
    return [{ ...known, cgroup: absolute(cgroup), limitedCgroup: absolute(limitedCgroup) }, false];
  const [, pid, processName] = lastLine.exec(message) ?? [];
  if (pid === undefined || processName === undefined) return [known, false];
  return [{ ...known, pid: Number(pid), processName }, true];
}

function absolute(path: string): string {
  return path.startsWith('/') ? path : `/${path}`;
}

/** The text of a record as the kernel has it: `6,1234,5678,-;text`, then lines of fields. */
export function messageOfRecord(record: string): string {
  const text = record.slice(record.indexOf(';') + 1);
  const end = text.indexOf('\n');
  return end === -1 ? text : text.slice(0, end);
}

/** The pod in whose cgroup this is, in the spelling of either driver. */
export function podUidOfCgroup(path: string): string | undefined {
  const [, plain, sliced] = /kubepods.*\/(?:pod([^/]+?)|[^/]*-pod([^/]+)\.slice)(?:\/|$)/.exec(path) ?? [];
  return plain ?? sliced?.replaceAll('_', '-');
}
