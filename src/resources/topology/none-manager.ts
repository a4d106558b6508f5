// The CPU and memory managers with the policies that give out nothing: every container uses what all share. What they keep is
// the file that says so, by which a kubelet with another policy, of either kind, is kept from taking such a node over.
// Upstream: policy_none.go of pkg/kubelet/cm/cpumanager and memorymanager, and NewCheckpointState of both.
// Invariant: a policy that is configured but not built keeps the kubelet from starting; nobody believes to have CPUs of their own.
import { join } from 'node:path';
import { untilAborted } from '../../base/abort/race-abort.ts';
import type { Component } from '../../base/component.ts';
import { describeError, KubeletError } from '../../base/errors.ts';
import { cannotRestore, type StateFiles } from '../checkpoint/checkpoint-file.ts';
import { decodeCpuState, encodeCpuState } from '../cpu/cpu-state.ts';
import { decodeMemoryState, encodeMemoryState } from '../memory/memory-state.ts';
import type { HintProvider } from './hint-provider.ts';

interface NoneManagerDeps {
  readonly files: Pick<StateFiles, 'read' | 'write'>;
  readonly rootDir: string;
  /** As it is configured. */
  readonly policy: string;
}

interface Kind {
  readonly name: string;
  readonly file: string;
  /** The one policy that is built. */
  readonly none: string;
  readonly field: string;
  readonly what: string;
  readonly policyOf: (text: string) => string;
  readonly empty: string;
  /** Before the words about another policy. */
  readonly prefix: string;
}

const cpu: Kind = {
  name: 'cpu-manager',
  file: 'cpu_manager_state',
  none: 'none',
  field: 'cpuManagerPolicy (--cpu-manager-policy)',
  what: 'the CPU manager',
  policyOf: (text) => decodeCpuState(text).policyName,
  empty: encodeCpuState({ policyName: 'none', defaultCpuSet: '', entries: {} }),
  prefix: '',
};

const memory: Kind = {
  name: 'memory-manager',
  file: 'memory_manager_state',
  none: 'None',
  field: 'memoryManagerPolicy (--memory-manager-policy)',
  what: 'the memory manager',
  policyOf: (text) => decodeMemoryState(text).policyName,
  empty: encodeMemoryState({ policyName: 'None', machineState: {}, entries: {} }),
  prefix: '[memorymanager] ',
};

export const cpuManager = (deps: NoneManagerDeps): NoneManager => new NoneManager(deps, cpu);
export const memoryManager = (deps: NoneManagerDeps): NoneManager => new NoneManager(deps, memory);

class NoneManager implements Component, HintProvider {
  readonly name: string;
  readonly #deps: NoneManagerDeps;
  readonly #kind: Kind;

  constructor(deps: NoneManagerDeps, kind: Kind) {
    this.name = kind.name;
    this.#deps = deps;
    this.#kind = kind;
  }

  async start(signal: AbortSignal): Promise<{ readonly stopped: Promise<void> }> {
    const { files, policy, rootDir } = this.#deps;
    const { empty, field, file, none, policyOf, prefix, what } = this.#kind;
    if (policy !== none) {
      const message = `${field}: the policy ${JSON.stringify(policy)} is not built here; only ${JSON.stringify(none)} is`;
      throw new KubeletError('invalid', 'PolicyNotBuilt', message);
    }
    const path = join(rootDir, file);
    const text = await files.read(path);
    if (text === undefined) await files.write(path, empty);
    else {
      const found = attempt(
        () => policyOf(text),
        (why) => cannotRestore(why, what, path),
      );
      if (found !== none) {
        const why = `${prefix}configured policy ${JSON.stringify(none)} differs from state checkpoint policy ${JSON.stringify(found)}`;
        throw cannotRestore(why, what, path);
      }
    }
    return { stopped: untilAborted(signal) };
  }

  hints(): ReturnType<HintProvider['hints']> {
    return {};
  }

  allocate(): void {
    // What all share needs no taking.
  }

  release(): void {
    // And no giving back.
  }
}

function attempt<T>(work: () => T, refusal: (why: string) => Error): T {
  try {
    return work();
  } catch (err) {
    throw refusal(describeError(err));
  }
}
