// Parses OOM kills from the kernel log. Pure.
// Upstream: cadvisor's utils/oomparser. Invariant: finds the same kills with the same fields as cadvisor.

export interface OomKill {
  readonly processName: string;
  /** 0 if the kernel did not log it. */
  readonly pid: number;
  /** The cgroup whose limit was reached; `/` if the machine itself is out of memory. */
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
/** A system-wide OOM has another form of the line, with the cgroup of the process only. */
const globalSinceLinux5 = ',global_oom,task_memcg=';
const beforeLinux5 = ['Task in ', ' killed as a result of limit of '] as const;
const kubepods = 'kubepods';
const slice = '.slice';
const lastLine = /Killed process ([0-9]+) \(/g;

const unknown: OomKill = { processName: '', pid: 0, limitedCgroup: '/', cgroup: '/', constraint: '' };

/** Takes the log message by message. Returns a kill with the message that completes it. */
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

/** Returns the kill with the fields of this message added, and whether it is complete. */
function readLine(kill: OomKill, message: string): readonly [OomKill, boolean] {
  const [constraint, , , , limited = '', task = '', processName = '', pid = ''] = readFields(message) ?? [];
  if (constraint !== undefined && /^\d+$/.test(pid))
    return [{ processName, pid: Number(pid), limitedCgroup: limited, cgroup: task, constraint }, true];
  const systemWide = readGlobal(message);
  if (systemWide !== undefined) return [{ ...kill, ...systemWide }, false];
  const oldForm = between(message, ...beforeLinux5);
  if (oldForm !== undefined) {
    const [cgroup, limitedCgroup] = oldForm;
    return [{ ...kill, cgroup: absolute(cgroup), limitedCgroup: absolute(limitedCgroup) }, false];
  }
  const killed = readKilled(message);
  return killed === undefined ? [kill, false] : [{ ...kill, ...killed }, true];
}

/**
 * The values of the line's fields. The name of a cgroup may contain anything, commas included. As with cadvisor's greedy
 * pattern, each field begins at the last position that leaves room for the following ones. Searched from the end, in one pass.
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

/** The text between the first `before` and the last `middle`, and the text after `middle`. */
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

/** The text of a kernel log record, `6,1234,5678,-;text` followed by lines of fields. */
export function messageOfRecord(record: string): string {
  const text = record.slice(record.indexOf(';') + 1);
  const end = text.indexOf('\n');
  return end === -1 ? text : text.slice(0, end);
}

/** The UID of the innermost pod cgroup on this path, spelled by either cgroup driver. */
export function podUidOfCgroup(path: string): string | undefined {
  const start = path.indexOf(kubepods);
  if (start < 0) return undefined;
  const [, ...parts] = path.slice(start).split('/');
  for (const part of parts.toReversed()) {
    if (part.startsWith('pod') && part !== 'pod') return part.slice('pod'.length);
    // The UID between the two has at least one character.
    const at = part.endsWith(slice) ? part.slice(0, -slice.length - 1).lastIndexOf('-pod') : -1;
    if (at >= 0) return part.slice(at + '-pod'.length, -slice.length).replaceAll('_', '-');
  }
  return undefined;
}
