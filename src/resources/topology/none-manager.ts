// The CPU and memory managers with the policy "none": every container uses the shared CPUs and memory. They only keep the
// state file, which stops a kubelet (of either implementation) with another policy from adopting the node.
// Upstream: policy_none.go of pkg/kubelet/cm/cpumanager and memorymanager, and NewCheckpointState of both.
// Invariant: a policy that is not implemented keeps the kubelet from starting; no pod runs without the exclusivity it expects.
import { join } from 'node:path';
import type { PodUid } from '../../api/pod/pod-ref.ts';
import { untilAborted } from '../../base/abort/race-abort.ts';
import type { Component } from '../../base/component.ts';
import { describeError, KubeletError } from '../../base/errors.ts';
import { cannotRestore, type StateFiles } from '../checkpoint/checkpoint-file.ts';
import { decodeCpuState, encodeCpuState } from '../cpu/cpu-state.ts';
import { decodeMemoryState, encodeMemoryState } from '../memory/memory-state.ts';
import type { HintProvider, ResourceHints } from './hint-provider.ts';

interface NoneManagerDeps {
  readonly files: Pick<StateFiles, 'read' | 'write'>;
  readonly rootDir: string;
  /** As configured. */
  readonly policy: string;
}

interface Kind {
  readonly name: string;
  readonly file: string;
  /** The name of the only policy implemented. */
  readonly none: string;
  readonly field: string;
  readonly owner: string;
  readonly decode: (text: string) => { readonly policyName: string; readonly current: string };
  readonly empty: string;
  /** Prefix of the error about a different policy, as upstream. */
  readonly prefix: string;
}

const cpu: Kind = {
  name: 'cpu-manager',
  file: 'cpu_manager_state',
  none: 'none',
  field: 'cpuManagerPolicy (--cpu-manager-policy)',
  owner: 'the CPU manager',
  decode: (text) => {
    const state = decodeCpuState(text);
    return { policyName: state.policyName, current: encodeCpuState(state) };
  },
  empty: encodeCpuState({ policyName: 'none', defaultCpuSet: '', entries: {} }),
  prefix: '',
};

const memory: Kind = {
  name: 'memory-manager',
  file: 'memory_manager_state',
  none: 'None',
  field: 'memoryManagerPolicy (--memory-manager-policy)',
  owner: 'the memory manager',
  decode: (text) => {
    const state = decodeMemoryState(text);
    return { policyName: state.policyName, current: encodeMemoryState(state) };
  },
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
    const { decode, empty, field, file, none, owner, prefix } = this.#kind;
    if (policy !== none) {
      const message = `${field}: the policy ${JSON.stringify(policy)} is not supported; use ${JSON.stringify(none)}`;
      throw new KubeletError('invalid', 'PolicyNotSupported', message);
    }
    const path = join(rootDir, file);
    const text = await files.read(path);
    if (text === undefined) await files.write(path, empty);
    else {
      const { current, policyName } = attempt(
        () => decode(text),
        (why) => cannotRestore(why, owner, path),
      );
      if (policyName !== none) {
        const why = `${prefix}configured policy ${JSON.stringify(none)} differs from state checkpoint policy ${JSON.stringify(policyName)}`;
        throw cannotRestore(why, owner, path);
      }
      // The file of an earlier release is rewritten. Its own format stays part of the new one.
      if (current !== text) await files.write(path, current);
    }
    return { stopped: untilAborted(signal) };
  }

  containerHints(): ResourceHints {
    return new Map();
  }

  podHints(): ResourceHints {
    return new Map();
  }

  holders(): readonly PodUid[] {
    return [];
  }

  allocate(): void {
    // Shared resources need no allocation.
  }

  release(): void {
    // Nothing was allocated.
  }
}

function attempt<T>(work: () => T, wrapError: (why: string) => Error): T {
  try {
    return work();
  } catch (err) {
    throw wrapError(describeError(err));
  }
}
