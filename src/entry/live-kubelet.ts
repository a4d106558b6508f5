// One kubelet as the live configuration sees it: what is in force, what would change, and whether it is healthy.
import type { Kubelet } from '../assemble/kubelet.ts';
import type { RunOutcome } from '../config/command-line/load-command-line.ts';
import { maskedConfiguration } from '../config/configz.ts';
import { type ConfigChange, diffConfiguration } from '../config/live/diff.ts';
import { LiveConfiguration } from '../config/live/live-configuration.ts';
import type { KubeletConfiguration } from '../config/table/kubelet-configuration.ts';
import { validateConfiguration } from '../config/validation/validate.ts';
import type { RunHooks, RunningKubelet } from '../live-config/candidate.ts';
import { type DescribedChange, describeChanges } from '../live-config/described-changes.ts';
import { maskConfiguration } from '../startup/effective-config.ts';

type Observed = Pick<Kubelet, 'stores' | 'trial'>;

/** Called after a configuration was put in force, with the one that the kubelet started with. */
type OnApplied = (applied: RunOutcome, started: RunOutcome) => void;

export class LiveKubelet {
  readonly #outcome: RunOutcome;
  readonly #hooks: RunHooks<RunOutcome>;
  readonly #onApplied: OnApplied;
  #inForce: LiveConfiguration | undefined;

  constructor(outcome: RunOutcome, hooks: RunHooks<RunOutcome>, onApplied: OnApplied) {
    this.#outcome = outcome;
    this.#hooks = hooks;
    this.#onApplied = onApplied;
  }

  /** `config`: with what start-up put in place of the file's values. */
  begin(config: KubeletConfiguration): LiveConfiguration {
    this.#inForce = new LiveConfiguration(config);
    return this.#inForce;
  }

  /** Before its components start. */
  assembled(kubelet: Observed): void {
    const inForce = this.#inForce;
    if (inForce === undefined) return;
    const outcome = this.#outcome;
    const running = runningKubelet(kubelet, inForce, outcome);
    this.#hooks.assembled({
      ...running,
      apply: (next) => {
        running.apply(next);
        this.#onApplied(next, outcome);
      },
    });
  }
}

function runningKubelet(
  kubelet: Observed,
  inForce: LiveConfiguration,
  started: RunOutcome,
): RunningKubelet<RunOutcome> {
  const { cgroupDriver } = inForce.current();
  // The driver is the runtime's, whatever the files say.
  const prepared = ({ config }: RunOutcome): KubeletConfiguration => ({ ...config, cgroupDriver });
  return {
    compare: (next) => {
      const config = prepared(next);
      const { flags, gates } = started;
      const preview = inForce.preview(config);
      const fault = kubelet.trial?.fault(preview);
      const { problems } = validateConfiguration({ config: preview, flags, gates }, undefined);
      return {
        changes: describe(inForce.current(), config, providerChanges(started, next)),
        isPartlyApplicable: problems.length === 0 && fault === undefined,
        fault,
      };
    },
    apply: (next) => void inForce.apply(prepared(next)),
    symptom: () => {
      for (const check of kubelet.trial?.checks ?? []) {
        const problem = check.advisory === true ? undefined : check.check();
        if (problem !== undefined) return problem;
      }
      return undefined;
    },
    isShuttingDown: () => kubelet.trial?.isShuttingDown() === true,
    isNodeReady: () => {
      const conditions = kubelet.stores.ownNode.get()?.status?.conditions ?? [];
      const status = conditions.find(({ type }) => type === 'Ready')?.status;
      // The control plane sets Unknown.
      return status === 'True' ? true : status === 'False' ? false : undefined;
    },
  };
}

/** Between two configurations of which neither runs. */
export function changesBetween(before: RunOutcome, after: RunOutcome): readonly DescribedChange[] {
  return describe(before.config, after.config, providerChanges(before, after));
}

function describe(
  before: KubeletConfiguration,
  after: KubeletConfiguration,
  more: readonly DescribedChange[],
): readonly DescribedChange[] {
  const [old, next] = [before, after].map((config) => maskConfiguration(maskedConfiguration(config)));
  const changes: readonly ConfigChange[] = diffConfiguration(before, after);
  return [...describeChanges(changes, old, next), ...more];
}

/** The files of credential providers are read with the configuration. Their values may be secret. */
function providerChanges(before: RunOutcome, after: RunOutcome): readonly DescribedChange[] {
  const [old, next] = [before, after].map(({ credentialProviders }) => JSON.stringify(credentialProviders));
  return old === next ? [] : [{ path: '--image-credential-provider-config', applies: 'restart' }];
}
