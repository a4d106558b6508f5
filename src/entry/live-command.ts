// The kubelet command with --live-config: plugs files, signals, systemd and the runs of kubelets into the live configuration.
// Invariant: without the flag nothing here is used, and SIGHUP keeps its default.
import { isAbsolute, join } from 'node:path';
import { untilAborted } from '../base/abort/race-abort.ts';
import type { Clock } from '../base/clock.ts';
import type { Component } from '../base/component.ts';
import { describeError } from '../base/errors.ts';
import type { Logger } from '../base/log/log.ts';
import { loadCommandLine, type RunOutcome } from '../config/command-line/load-command-line.ts';
import { parseArgs } from '../config/command-line/parse-args.ts';
import { readFlags } from '../config/load/load.ts';
import { type ConfigurationFiles, type Findings } from '../config/load/read-files.ts';
import { describeProblems } from '../config/problem.ts';
import type { KubeletFlags } from '../config/table/kubelet-flags.ts';
import type { HostFacts } from '../config/validation/context.ts';
import { recordFiles } from '../edge/files/record-files.ts';
import { watchPath } from '../edge/manifests/watch-dir.ts';
import { SdNotify } from '../edge/systemd/sd-notify.ts';
import type { LoadResult, RunHooks } from '../live-config/candidate.ts';
import { ConfigStatus } from '../live-config/config-status.ts';
import { type ConfigContent, checksumOf, RecordingFiles, recordedFiles } from '../live-config/content.ts';
import { LiveConfig } from '../live-config/live-config.ts';
import { StateFiles } from '../live-config/state-files.ts';
import { changesBetween, LiveKubelet } from './live-kubelet.ts';
import { RestartGap } from './restart-gap.ts';

/** What one kubelet of the process needs of the others. */
export interface LiveRun {
  readonly status: ConfigStatus;
  readonly kubelet: LiveKubelet;
  /** Starts when all other components are ready. */
  readonly started: Component;
  /** What systemd is notified of when the kubelet stops. */
  readonly stopState: () => string;
}

/** Runs one kubelet until `life` is aborted. */
export type LiveCommandRun = (
  outcome: RunOutcome,
  log: Logger,
  live: LiveRun | undefined,
  life: AbortController,
) => Promise<number>;

interface LiveCommandInput {
  readonly argv: readonly string[];
  readonly flags: KubeletFlags;
  readonly files: ConfigurationFiles;
  readonly host: () => Promise<HostFacts>;
  readonly run: LiveCommandRun;
  readonly loggerOf: (format: string) => Logger;
  readonly onHangup: (listener: () => void) => void;
  readonly clock: Clock;
  readonly random: () => number;
}

/** The flags, if they enable the live configuration; problems are left to the normal way. */
export function liveConfigFlags(argv: readonly string[]): KubeletFlags | undefined {
  const args = parseArgs(argv);
  const findings: Findings = { problems: [...args.problems], warnings: [] };
  const flags = readFlags(args, findings);
  const isRun = findings.problems.length === 0 && !flags.help && !['raw', 'true'].includes(flags.version);
  return isRun && flags.liveConfig !== 'Off' ? flags : undefined;
}

/** Returns the exit code. */
export async function runLiveCommand(input: LiveCommandInput, stop: AbortController): Promise<number> {
  return await new LiveCommand(input, stop).run();
}

class LiveCommand {
  readonly #input: LiveCommandInput;
  readonly #stop: AbortController;
  readonly #status = new ConfigStatus();
  readonly #systemd: SdNotify;
  readonly #log: Logger;
  readonly #gap: RestartGap;
  #currentLog: Logger;
  #host: Promise<HostFacts> | undefined;
  /** The text of the last load that failed, as it is printed when nothing can run. */
  #failure = '';

  constructor(input: LiveCommandInput, stop: AbortController) {
    const { clock, loggerOf, random } = input;
    this.#input = input;
    this.#stop = stop;
    this.#systemd = new SdNotify({ socket: process.env['NOTIFY_SOCKET'], clock });
    this.#currentLog = loggerOf('text');
    this.#log = forwardTo(() => this.#currentLog);
    this.#gap = new RestartGap({
      notify: (state, signal) => this.#systemd.notify(state, signal),
      clock,
      log: this.#log,
      random,
    });
  }

  async run(): Promise<number> {
    const { clock, flags, loggerOf, onHangup, run } = this.#input;
    const log = this.#log.with({ component: 'live-config' });
    const live = new LiveConfig<RunOutcome>({
      mode: flags.liveConfig === 'Restart' ? 'Restart' : 'Apply',
      periodMs: flags.liveConfigWatchPeriod.ms,
      load: (content) => this.#load(content),
      compare: changesBetween,
      runKubelet: (outcome, hooks, signal) => this.#runKubelet(outcome, hooks, signal),
      watch: (onChange) => this.#watch(onChange),
      notify: (state) => this.#notify(state),
      status: this.#status,
      state: new StateFiles({ directory: `${flags.rootDir}/live-config`, files: recordFiles, log }),
      clock,
      log,
    });
    onHangup(() => {
      log.info('Received SIGHUP, reading the configuration files');
      live.requestReload();
    });
    const first = await this.#load();
    if (first.kind === 'valid') this.#currentLog = loggerOf(first.run.config.logging.format);
    try {
      const exitCode =
        first.kind === 'valid' && first.run.config.runOnce
          ? await run(first.run, this.#currentLog, undefined, this.#stop)
          : await live.run(first, this.#stop.signal);
      if (exitCode === undefined) {
        process.stderr.write(this.#failure);
        return 1;
      }
      this.#log.info('Kubelet stopped; containers keep running');
      return exitCode;
    } catch (err) {
      this.#log.error('Kubelet failed', { err });
      return 1;
    } finally {
      this.#gap.end();
    }
  }

  async #runKubelet(outcome: RunOutcome, hooks: RunHooks<RunOutcome>, signal: AbortSignal): Promise<number> {
    const { loggerOf, run } = this.#input;
    this.#currentLog = loggerOf(outcome.config.logging.format);
    // The kubelet may stop itself, for example when another process wants its lock file.
    const life = new AbortController();
    const onAbort = (): void => life.abort(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    if (signal.aborted) onAbort();
    const live: LiveRun = {
      status: this.#status,
      kubelet: new LiveKubelet(outcome, hooks, (applied, started) => this.#logNewWarnings(applied, started)),
      started: startedComponent(() => {
        this.#gap.end();
        hooks.started();
      }),
      stopState: () => (this.#stop.signal.aborted ? 'STOPPING=1' : reloadingState()),
    };
    try {
      return await run(outcome, this.#currentLog, live, life);
    } finally {
      signal.removeEventListener('abort', onAbort);
      if (this.#stop.signal.aborted) this.#gap.end();
      else if (outcome.gates.SystemdWatchdog) this.#gap.begin();
    }
  }

  /** A start logs all of them. */
  #logNewWarnings(applied: RunOutcome, started: RunOutcome): void {
    const known = new Set([
      ...started.warnings,
      ...started.settingWarnings.map((each) => JSON.stringify(each)),
    ]);
    for (const warning of applied.warnings) if (!known.has(warning)) this.#log.warn(warning);
    for (const each of applied.settingWarnings)
      if (!known.has(JSON.stringify(each))) this.#log.warn(each.message, each.values);
  }

  async #load(content?: ConfigContent): Promise<LoadResult<RunOutcome>> {
    const { argv, files, host } = this.#input;
    const source = content === undefined ? files : recordedFiles(content, files.workingDirectory);
    const recording = new RecordingFiles(source);
    const hostOnce = (): Promise<HostFacts> =>
      (this.#host ??= host().catch((err: unknown) => {
        // The next load retries.
        this.#host = undefined;
        throw err;
      }));
    const outcome = await loadCommandLine({ argv, files: recording, host: hostOnce }).catch(failed);
    const read = recording.content();
    const found = { checksum: checksumOf(read), sources: Object.keys(read.files) };
    if (outcome.kind === 'run') return { kind: 'valid', ...found, content: read, run: outcome };
    if (content === undefined) this.#failure = outcome.text;
    const problems = outcome.kind === 'error' ? outcome.problems : [];
    return { kind: 'invalid', ...found, problems: problems.map((problem) => describeProblems([problem])) };
  }

  #watch(onChange: () => void): { close(): void } {
    const { clock, files, flags } = this.#input;
    const paths = [flags.config, flags.configDir].filter((path) => path !== '');
    if (paths.length === 0)
      this.#log.warn('Neither --config nor --config-dir is set, so --live-config has nothing to watch');
    const watchers = paths.map((path) =>
      watchPath({
        path: isAbsolute(path) ? path : join(files.workingDirectory, path),
        clock,
        onChange,
        // The files are also read now and then.
        onError: (err) => this.#log.v(4).info('Failed to watch configuration files', { path, err }),
      }),
    );
    return {
      close: () => {
        for (const watcher of watchers) watcher.close();
      },
    };
  }

  /** A failure is only logged: the kubelet runs without systemd too. */
  async #notify(state: 'reloading' | 'ready'): Promise<void> {
    try {
      await this.#systemd.notify(state === 'ready' ? 'READY=1' : reloadingState());
    } catch (err) {
      this.#log.warn('Failed to notify systemd', { state, err });
    }
  }
}

/** systemd compares the time with that of its own request. */
function reloadingState(): string {
  return `RELOADING=1\nMONOTONIC_USEC=${process.hrtime.bigint() / 1_000n}`;
}

function failed(err: unknown): Exclude<Awaited<ReturnType<typeof loadCommandLine>>, { kind: 'run' }> {
  const message = describeError(err);
  return { kind: 'error', text: `${message}\n`, problems: [{ where: '', message }], exitCode: 1 };
}

function startedComponent(onStarted: () => void): Component {
  return {
    name: 'live-config-started',
    start: async (signal) => {
      onStarted();
      return { stopped: untilAborted(signal) };
    },
  };
}

/** The format of the log may change with the configuration. */
function forwardTo(current: () => Logger): Logger {
  return {
    info: (...entry) => current().info(...entry),
    warn: (...entry) => current().warn(...entry),
    error: (...entry) => current().error(...entry),
    v: (level) => current().v(level),
    with: (fields) => forwardTo(() => current().with(fields)),
  };
}
