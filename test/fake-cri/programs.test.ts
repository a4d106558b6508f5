import { describe, expect, test } from 'vitest';
import { FakeClock } from '../fakes/fake-clock.ts';
import { FakeProcess, type SignalName } from './process.ts';
import { findProgram } from './programs.ts';

interface Ran {
  readonly code: number | undefined;
  readonly out: string;
  readonly err: string;
  readonly atMs: number | undefined;
}

/** Runs a command line for a time of the fake clock and sends it signals. */
async function run(
  args: readonly string[],
  options: {
    forMs?: number;
    isInit?: boolean;
    signals?: readonly (readonly [number, SignalName])[];
    limit?: number;
  } = {},
): Promise<Ran> {
  const clock = new FakeClock();
  const output = { stdout: '', stderr: '' };
  let atMs: number | undefined;
  const found = findProgram(args);
  if ('error' in found) throw new Error(found.error);
  const process = new FakeProcess({
    clock,
    program: found.program,
    args,
    env: new Map([
      ['NAME', 'two words'],
      ['HOSTNAME', 'box'],
    ]),
    files: new Map([['/etc/motd', 'hello\n']]),
    isInit: options.isInit ?? true,
    memoryLimitBytes: options.limit ?? 0,
    write: (stream, text) => (output[stream] += text),
    onExit: () => {
      atMs = clock.monotonic();
    },
  });
  process.start();
  for (const [ms, name] of options.signals ?? []) clock.setTimer(ms, () => process.signal(name));
  await clock.advance(options.forMs ?? 10_000);
  const code = process.exit?.code;
  process.end(0);
  await clock.settle();
  expect(clock.pendingTimers()).toBe(0);
  return { code, out: output.stdout, err: output.stderr, atMs };
}

const sh = (text: string): readonly string[] => ['sh', '-c', text];

describe('prints and exits as the real command does', () => {
  const cases: readonly (readonly [string, string, number, string?])[] = [
    ['exit 7', '', 7],
    ['echo one; echo; printf two', 'one\n\ntwo', 0],
    ['echo $NAME $NONE $HOSTNAME', 'two words box\n', 0],
    ['echo out; echo err >&2; exit 3', 'out\n', 3, 'err\n'],
    ['echo yes > /f; cat /f', 'yes\n', 0],
    ['touch /f; rm /f; test -e /f', '', 1],
    ['test -e /etc/motd', '', 0],
    ['cat /etc/motd /etc/hosts', 'hello\n', 0],
    ['cat /nope', '', 1, "cat: can't open '/nope': No such file or directory\n"],
    ['rm /nope', '', 1, "rm: can't remove '/nope': No such file or directory\n"],
    ['no-such-command', '', 127, 'sh: no-such-command: not found\n'],
    ['hostname; env', 'box\nNAME=two words\nHOSTNAME=box\n', 0],
    ['id; ls -ln / | grep e', 'uid=0(root) gid=0(root)\n', 0],
    ['echo last; false', 'last\n', 1],
  ];
  for (const [text, out, code, err = ''] of cases) {
    test(text, async () => {
      expect(await run(sh(text))).toMatchObject({ out, code, err });
    });
  }

  test('an empty argument is kept where no shell splits words', async () => {
    expect(await run(['echo', 'a', '', 'b'])).toMatchObject({ out: 'a  b\n', code: 0 });
  });
});

describe('exits in the time of the clock', () => {
  const term = { signals: [[100, 'TERM']] } as const;
  const cases: readonly (readonly [string, readonly string[], Parameters<typeof run>[1], Partial<Ran>])[] = [
    ['sleep exits when its time is over', ['/bin/sleep', '2'], {}, { code: 0, atMs: 2000 }],
    ['a script exits after its sleep', sh('sleep 1.5; exit 3'), {}, { code: 3, atMs: 1500 }],
    ['init ignores TERM', ['sleep', '1000'], term, { code: undefined }],
    ['init does not survive KILL', ['sleep', '1000'], { signals: [[100, 'KILL']] }, { code: 137, atMs: 100 }],
    [
      'TERM ends a command that is not init',
      ['sleep', '9'],
      { isInit: false, ...term },
      { code: 143, atMs: 100 },
    ],
    ['TERM ends a script that is not init', sh('sleep 9; exit 3'), { isInit: false, ...term }, { code: 143 }],
    [
      'a trap runs when the sleep of the loop has ended',
      sh('trap "exit 0" TERM; while true; do sleep 0.2; done'),
      { signals: [[1050, 'TERM']] },
      { code: 0, atMs: 1200 },
    ],
    ['a trap interrupts wait', sh('trap "exit 4" TERM; sleep 1000 & wait'), term, { code: 4, atMs: 100 }],
    [
      'a trap runs all of its commands',
      sh('trap "echo bye; sleep 1; exit 7" TERM; while true; do sleep 0.2; done'),
      term,
      { code: 7, atMs: 1200, out: 'bye\n' },
    ],
    [
      'an empty trap ignores TERM in a loop',
      sh('trap "" TERM; while true; do sleep 0.1; done'),
      { isInit: false, ...term },
      { code: undefined },
    ],
    [
      'an empty trap ignores TERM in a list of commands',
      sh("trap '' TERM; touch /tmp/ok; sleep 1; exit 2"),
      { isInit: false, ...term },
      { code: 2, atMs: 1000 },
    ],
    [
      'exhausting memory with a limit ends with OOM',
      sh('tail /dev/zero'),
      { limit: 1 },
      { code: 137, atMs: 0 },
    ],
    ['exhausting memory without a limit runs on', sh('tail /dev/zero'), {}, { code: undefined }],
    ['a shell without a script exits at once', ['sh'], {}, { code: 0, atMs: 0 }],
  ];
  for (const [name, args, options, want] of cases) {
    test(name, async () => {
      expect(await run(args, options)).toMatchObject(want);
    });
  }
});

describe('refuses to start', () => {
  const missing = [
    [['/no/such/binary'], 'exec: "/no/such/binary": stat /no/such/binary: no such file or directory'],
    [['nosuch', '-x'], 'exec: "nosuch": executable file not found in $PATH'],
    [[], 'args must not be empty'],
  ] as const;
  for (const [args, words] of missing) {
    test(words, () => expect(findProgram(args)).toEqual({ error: expect.stringContaining(words) }));
  }

  const unknown = [
    'echo $(date)',
    'ls | sort',
    'echo a && echo b',
    'echo "a b"',
    'for i in 1 2; do echo $i; done',
    'trap "exit 4" TERM; sleep 3; exit 5',
    'trap "kill 1" TERM; while true; do sleep 1; done',
    'unknown-command; exit 0',
  ];
  for (const text of unknown) {
    test(`an unknown script, quoting it: ${text}`, () => {
      const words = `no program for script ${JSON.stringify(text)}`;
      expect(findProgram(sh(text))).toEqual({ error: expect.stringContaining(words) });
    });
  }
});
