// Runs a command that shows a node against a fake kubelet, and keeps what it prints.
import type { ContainerStatus, Pod } from '../../src/api/k8s/types.ts';
import type { SubcommandName } from '../../src/config/command-line/subcommands.ts';
import type { CommandOutput } from '../../src/entry/commands/command-call.ts';
import { runWithOutput } from '../../src/entry/commands/run-subcommand.ts';
import { FakeNodeServer } from '../fakes/fake-node-server.ts';

interface CommandOutcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

interface RunOptions {
  /** Of a terminal. */
  readonly columns?: number;
  /** Called with all of stdout. */
  readonly onPrint?: (text: string) => void;
}

export class CommandRig {
  readonly node = new FakeNodeServer();
  readonly stop = new AbortController();

  constructor() {
    this.node.answers.set('/pods', JSON.stringify(nodePods));
    this.node.answers.set('/explain', JSON.stringify(explained));
    this.node.answers.set('/explain/history', JSON.stringify(records));
  }

  /** `line` has no quotes. Without --server or --root-dir the command connects to the fake kubelet. */
  async run(line: string, options: RunOptions = {}): Promise<CommandOutcome> {
    const [name = '', ...args] = line.split(' ').filter((word) => word !== '');
    let stdout = '';
    let stderr = '';
    const output: CommandOutput = {
      print: async (text) => {
        stdout += String(typeof text === 'string' ? text : Buffer.from(text));
        options.onPrint?.(stdout);
      },
      warn: (text) => (stderr += text),
      columns: () => options.columns,
      rows: () => (options.columns === undefined ? undefined : 10),
      colours: false,
    };
    const all = args.some((word) => word.startsWith('--server') || word.startsWith('--root-dir'))
      ? args
      : [...args, '--root-dir', this.node.rootDir];
    const code = await runWithOutput(name as SubcommandName, { args: all, signal: this.stop.signal }, output);
    return { code, stdout, stderr };
  }
}

const running = { running: { startedAt: '2026-01-01T00:00:00Z' } };
const status = (name: string): ContainerStatus => ({
  name,
  image: 'i',
  imageID: 'i',
  ready: true,
  restartCount: 0,
  containerID: `containerd://${name}-1`,
  state: running,
});

/** A pod whose containers run. */
export function runningPod(namespace: string, name: string, containers: readonly string[]): Pod {
  return {
    metadata: { namespace, name, uid: `uid-${name}` },
    spec: {
      containers: containers.map((each) => ({ name: each, image: 'busybox' })),
      volumes: [{ name: 'data', emptyDir: {} }],
    },
    status: {
      phase: 'Running',
      podIP: '10.0.0.2',
      containerStatuses: containers.map((each) => status(each)),
    },
  };
}

/** Controls a terminal that prints it as it is. */
export const hostileText = '\u001b]0;t\u0007\u202e';
export const nodePods = {
  items: [runningPod('default', 'hello-node', ['web', 'clock']), runningPod('other', 'db', ['db'])],
};
const explained = {
  pods: [
    {
      namespace: 'default',
      name: 'hello-node',
      uid: 'uid-hello-node',
      explanation: `running ${hostileText}`,
      since: '2026-01-01T00:00:00Z',
      events: [
        {
          type: 'Warning',
          reason: 'BackOff',
          message: hostileText,
          count: 2,
          lastTimestamp: '2026-01-01T00:00:00Z',
        },
      ],
    },
  ],
};
const records = {
  records: [
    {
      id: 'c/1',
      time: '2026-01-01T00:00:00Z',
      kind: 'exit',
      namespace: 'default',
      pod: 'gone-node',
      container: 'web',
      cause: `Container web exited ${hostileText}`,
      exitCode: 3,
      lastLines: ['last\tline', hostileText],
    },
  ],
  more: true,
};
