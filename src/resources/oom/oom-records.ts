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

const firstLine = 'invoked oom-killer:';
const sinceLinux5 = 'oom-kill:constraint=';
const fieldsSinceLinux5 = [
  'nodemask',
  'cpuset',
  'mems_allowed',
  'oom_memcg',
  'task_memcg',
  'task',
  'pid',
  'uid',
];
/** Without a limit of a cgroup the line has another form, and tells only whose process it was. */
const globalSinceLinux5 = ',global_oom,task_memcg=';
const beforeLinux5 = ['Task in ', ' killed as a result of limit of '] as const;
const kubepods = 'kubepods';
const slice = '.slice';
const lastLine = /Killed process ([0-9]+) \(/g;

const unknown: OomKill = { processName: '', pid: 0, limitedCgroup: '/', cgroup: '/', constraint: '' };

/** Fed one message after the other; tells a kill with the message that completes it. */
export class OomReader {
  #open: OomKill | undefined;

  read(message: string): OomKill | undefined {
    if (this.#open === undefined) {
      if (message.includes(firstLine)) this.#open = unknown;
      return undefined;
    }
    const [more, isComplete] = readLine(this.#open, message);
    this.#open = isComplete ? undefined : more;
    return isComplete ? more : undefined;
  }
}

function readLine(known: OomKill, message: string): readonly [OomKill, boolean] {
  const [constraint, , , , limited = '', task = '', processName = '', pid = ''] = readFields(message) ?? [];
  if (constraint !== undefined && /^\d+$/.test(pid))
    return [{ processName, pid: Number(pid), limitedCgroup: limited, cgroup: task, constraint }, true];
  const ofGlobal = readGlobal(message);
  if (ofGlobal !== undefined) return [{ ...known, ...ofGlobal }, false];
  const ofOld = between(message, ...beforeLinux5);
  if (ofOld !== undefined) {
    const [cgroup, limitedCgroup] = ofOld;
    return [{ ...known, cgroup: absolute(cgroup), limitedCgroup: absolute(limitedCgroup) }, false];
  }
  const killed = readKilled(message);
  return killed === undefined ? [known, false] : [{ ...known, ...killed }, true];
}

/**
 * The values of the line's fields. A name of a cgroup may hold anything, commas included: as in cadvisor's greedy pattern,
 * each field begins at the last place that leaves room for those after it. Found from the end, in one pass.
 */
function readFields(message: string): readonly string[] | undefined {
  const start = message.indexOf(sinceLinux5);
  if (start < 0) return undefined;
  const values: string[] = [];
  let end = message.length;
  for (const name of fieldsSinceLinux5.toReversed()) {
    const mark = `,${name}=`;
    const at = message.lastIndexOf(mark, end - mark.length);
    if (at < start + sinceLinux5.length) return undefined;
    values.push(message.slice(at + mark.length, end));
    end = at;
  }
  return [message.slice(start + sinceLinux5.length, end), ...values.toReversed()];
}

function readGlobal(message: string): Pick<OomKill, 'constraint' | 'cgroup'> | undefined {
  const start = message.indexOf(sinceLinux5);
  const comma = start < 0 ? -1 : message.indexOf(',', start);
  const at = message.lastIndexOf(globalSinceLinux5, message.lastIndexOf(',') - globalSinceLinux5.length);
  if (comma < 0 || at <= comma) return undefined;
  const from = at + globalSinceLinux5.length;
  const constraint = message.slice(start + sinceLinux5.length, comma);
  return { constraint, cgroup: message.slice(from, message.indexOf(',', from)) };
}

/** What stands between the first `before` and the last `middle`, and what comes after that. */
function between(message: string, before: string, middle: string): readonly [string, string] | undefined {
  const start = message.indexOf(before);
  const at = message.lastIndexOf(middle);
  if (start < 0 || at < start + before.length) return undefined;
  return [message.slice(start + before.length, at), message.slice(at + middle.length)];
}

function readKilled(message: string): Pick<OomKill, 'pid' | 'processName'> | undefined {
  const close = message.lastIndexOf(')');
  for (const { index, 0: whole, 1: pid } of message.matchAll(lastLine)) {
    const from = index + whole.length;
    if (close > from) return { pid: Number(pid), processName: message.slice(from, close) };
  }
  return undefined;
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

/** The pod in whose cgroup this is, in the spelling of either driver: of several, the innermost. */
export function podUidOfCgroup(path: string): string | undefined {
  const start = path.indexOf(kubepods);
  if (start < 0) return undefined;
  const [, ...parts] = path.slice(start).split('/');
  for (const part of parts.toReversed()) {
    if (part.startsWith('pod') && part !== 'pod') return part.slice('pod'.length);
    // At least one character stands between the two.
    const at = part.endsWith(slice) ? part.slice(0, -slice.length - 1).lastIndexOf('-pod') : -1;
    if (at >= 0) return part.slice(at + '-pod'.length, -slice.length).replaceAll('_', '-');
  }
  return undefined;
}
