// The range of user and group IDs for pods with user namespaces. Upstream: getKubeletMappings and parseGetSubIdsOutput in
// pkg/kubelet/kubelet_pods.go.
// Invariant: with a user `kubelet` and the tool getsubids, only the configured range is used; a malformed one is an error.
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { KubeletError } from '../../base/errors.ts';

interface IdRange {
  readonly first: number;
  readonly length: number;
}

export interface IdRangeHost {
  /** The content of /etc/passwd. */
  users(): Promise<string>;
  /** The output of getsubids; undefined if the tool is not installed. */
  getSubIds(args: readonly string[]): Promise<string | undefined>;
}

const user = 'kubelet';
const allIds = 2 ** 32;

/** Without a configured range: all IDs except the first `idsPerPod`, which include those of the node itself. */
export async function kubeletIdRange(idsPerPod: number, host: IdRangeHost = thisHost): Promise<IdRange> {
  const hasUser = (await host.users()).split('\n').some((line) => line.startsWith(`${user}:`));
  const uids = hasUser ? await host.getSubIds([user]) : undefined;
  if (uids === undefined) return { first: idsPerPod, length: allIds - idsPerPod };
  const gids = await host.getSubIds(['-g', user]);
  if (uids !== gids) throw invalid(`mismatched subuids and subgids for user "${user}"`);
  return parseSubIds(uids);
}

/** Expects exactly one line: `0: kubelet 65536 2147483648`. */
export function parseSubIds(text: string): IdRange {
  let [from, to] = [0, text.length];
  while (text[from] === '\n') from += 1;
  while (to > from && text[to - 1] === '\n') to -= 1;
  const lines = text.slice(from, to).split('\n');
  if (lines.length !== 1) throw invalid(`error parsing line "${text}": it must contain only one line`);
  const parts = (lines[0] ?? '').trim().split(/\s+/);
  const [first, length] = [Number(parts[2]), Number(parts[3])];
  const valid = [first, length].every((each) => Number.isInteger(each) && each >= 0 && each < 2 ** 32);
  if (parts.length !== 4 || !valid) throw invalid(`invalid line "${text}"`);
  return { first, length };
}

function invalid(message: string): KubeletError {
  return new KubeletError('invalid', 'InvalidIdRange', message);
}

const run = promisify(execFile);

const thisHost: IdRangeHost = {
  users: () => readFile('/etc/passwd', 'utf8').catch(() => ''),
  getSubIds: async (args) => {
    try {
      return (await run('getsubids', [...args], { timeout: 10_000 })).stdout;
    } catch (err) {
      if (err instanceof Error && 'code' in err && err.code === 'ENOENT') return undefined;
      throw new KubeletError('internal', 'FailedExec', `error retrieving additional ids for user "${user}"`, {
        cause: err,
      });
    }
  },
};
