// The kubelet command: argv → configuration → assemble → run until a signal → exit code.
// Invariant: this is the only place that ends the process, listens to signals and knows the process's own streams.
import { mkdir, readdir, readFile } from 'node:fs/promises';
import { assemble } from './assemble.ts';
import { realClock } from './base/clock.ts';
import { describeError } from './base/errors.ts';
import { type Logger, Verbosity } from './base/log.ts';
import { jsonLogger } from './base/log-json.ts';
import { textLogger } from './base/log-text.ts';
import { Supervisor } from './base/supervisor.ts';
import { loadCommandLine, type Outcome } from './config/load-command-line.ts';
import { readMachine } from './edge/host/machine.ts';
import { realEdges } from './edge/real-edges.ts';

const startDeadlineMs = 60_000;
const stopDeadlineMs = 10_000;

async function main(): Promise<number> {
  const stop = new AbortController();
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => stop.abort());
  const outcome = await loadCommandLine({
    argv: process.argv.slice(2),
    files: {
      read: (path) => readFile(path, 'utf8'),
      list: async (path) =>
        (await readdir(path, { withFileTypes: true })).map((entry) => ({
          name: entry.name,
          isDirectory: entry.isDirectory(),
        })),
      workingDirectory: process.cwd(),
    },
  });
  if (outcome.kind === 'run') return await run(outcome, stop.signal);
  const stream = outcome.kind === 'print' ? process.stdout : process.stderr;
  stream.write(outcome.text);
  return outcome.exitCode;
}

async function run(outcome: Extract<Outcome, { kind: 'run' }>, signal: AbortSignal): Promise<number> {
  const { config, flags, gates, version, warnings } = outcome;
  const log = makeLogger(config.logging);
  for (const warning of warnings) log.warn(warning);
  log.info('Kubelet version', { kubeletVersion: version, node: process.version });
  const machine = await readMachine();
  const nodeName = (flags.hostnameOverride === '' ? machine.hostname : flags.hostnameOverride)
    .trim()
    .toLowerCase();
  await mkdir(flags.rootDir, { recursive: true, mode: 0o750 });
  const kubelet = assemble({
    config,
    flags,
    gates,
    machine,
    nodeName,
    edges: realEdges(realClock),
    clock: realClock,
    log,
  });
  try {
    const supervisor = new Supervisor({
      components: kubelet.components,
      clock: realClock,
      log,
      startDeadlineMs,
      stopDeadlineMs,
    });
    await supervisor.run(signal);
    log.info('Kubelet stopped; containers go on running');
    return 0;
  } catch (err) {
    log.error('Kubelet failed', { err });
    return 1;
  } finally {
    kubelet.close();
  }
}

function makeLogger(logging: { readonly format: string; readonly verbosity: number }): Logger {
  const options = {
    write: (line: string) => process.stderr.write(line),
    clock: realClock,
    verbosity: new Verbosity(logging.verbosity),
    pid: process.pid,
  };
  return logging.format === 'json' ? jsonLogger(options) : textLogger(options);
}

try {
  const code = await main();
  process.exitCode = code;
  // Nothing keeps the loop alive by now; a handle that does must not keep a stopped kubelet in the process table.
  setTimeout(() => process.exit(code), 1_000).unref();
} catch (err) {
  process.stderr.write(`kubelet: ${describeError(err)}\n`);
  process.exit(1);
}
