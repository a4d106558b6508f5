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

/** Runs a command line for a while; signals are sent at their times. */
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
    env: new Map([['NAME', 'two words']]),
    files: new Map([['/etc/motd', 'hello\n']]),
    hostname: 'box',
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

describe('what scripts print and end with', () => {
  const cases: readonly (readonly [string, string, number, string?])[] = [
    ['echo $NONE "a  b" a  b', 'a  b a b\n', 0],
    ['exit 7', '', 7],
    ['false; exit', '', 1],
    ['x=$((1+2)); echo $x ${x}y; echo $((x - 1))', '3 3y\n2\n', 0],
    ['nosuchcmd; echo $?', '127\n', 0, 'sh: nosuchcmd: not found\n'],
    ['cat /nope /etc/motd', 'hello\n', 1, "cat: can't open '/nope': No such file or directory\n"],
    ['test 1 -lt 2 && echo lt || echo ge', 'lt\n', 0],
    ['[ -f /etc/motd ] && [ ! -e /nope ] && echo both', 'both\n', 0],
    ['for i in 1 2 $NAME; do echo i$i; done', 'i1\ni2\nitwo\niwords\n', 0],
    ['for i in "$NAME" \'$NAME\'; do echo $i; done', 'two words\n$NAME\n', 0],
    ['if false; then echo no; else echo yes; fi', 'yes\n', 0],
    ['printf "%s-%d\\n" x 3; hostname; echo -n end', 'x-3\nbox\nend', 0],
    [
      'echo one > /f; echo two >> /f; cat /f; rm /f; cat /f',
      'one\ntwo\n',
      1,
      "cat: can't open '/f': No such file or directory\n",
    ],
    [
      'echo out; echo err >&2; cat /nope 2>/dev/null; cat /nope 2>&1',
      "out\ncat: can't open '/nope': No such file or directory\n",
      1,
      'err\n',
    ],
    ['env | sort', '', 0],
    ['# nothing\necho a\\\n b # more', 'a b\n', 0],
    ['i=0; while [ $i -lt 3 ]; do echo $i; i=$((i+1)); done', '0\n1\n2\n', 0],
    ['until [ -e /done ]; do sleep 1; touch /done; done; echo ok', 'ok\n', 0],
    ['kill -9 $$; kill -15 $$; echo alive', 'alive\n', 0],
  ];
  for (const [text, out, code, err = ''] of cases) {
    test(text, async () => {
      expect(await run(sh(text))).toMatchObject({ out, code, err });
    });
  }
});

describe('when they end', () => {
  const cases: readonly (readonly [string, readonly string[], Parameters<typeof run>[1], Partial<Ran>])[] = [
    ['sleep ends on time', ['sleep', '2'], {}, { code: 0, atMs: 2000 }],
    ['sleep with a unit', ['/bin/sleep', '0.1m'], {}, { code: 0, atMs: 6000 }],
    ['sleep, then a code', sh('sleep 1; exit 3'), {}, { code: 3, atMs: 1000 }],
    ['init ignores TERM', ['sleep', '1000'], { signals: [[100, 'TERM']] }, { code: undefined }],
    ['init cannot ignore KILL', ['sleep', '1000'], { signals: [[100, 'KILL']] }, { code: 137, atMs: 100 }],
    [
      'others end by TERM',
      ['sleep', '1000'],
      { isInit: false, signals: [[100, 'TERM']] },
      { code: 143, atMs: 100 },
    ],
    [
      'a shell that is not init as well',
      sh('sleep 9; exit 3'),
      { isInit: false, signals: [[100, 'TERM']] },
      { code: 143 },
    ],
    ['killed by itself', sh('kill -9 $$; exit 3'), { isInit: false }, { code: 137 }],
    [
      'trap runs after the foreground command',
      sh('trap "exit 4" TERM; sleep 3; exit 5'),
      { signals: [[100, 'TERM']] },
      { code: 4, atMs: 3000 },
    ],
    [
      'trap in an idle loop runs at its turn',
      sh('trap "exit 0" TERM; while true; do sleep 0.2; done'),
      { signals: [[1050, 'TERM']] },
      { code: 0, atMs: 1200 },
    ],
    [
      'trap interrupts wait',
      sh('trap "exit 4" TERM; sleep 1000 & wait'),
      { signals: [[100, 'TERM']] },
      { code: 4, atMs: 100 },
    ],
    [
      'trap takes its time',
      sh('trap "echo bye; sleep 1; exit 7" TERM; while :; do sleep 0.2; done'),
      { signals: [[100, 'TERM']] },
      { code: 7, atMs: 1200, out: 'bye\n' },
    ],
    [
      'trap that ignores',
      sh('trap "" TERM; while true; do sleep 0.1; done'),
      { isInit: false, signals: [[100, 'TERM']] },
      { code: undefined },
    ],
    ['a busy loop does not hang the clock', sh('while true; do x=1; done'), {}, { code: undefined }],
    ['exec replaces', sh('exec sleep 1'), {}, { code: 0, atMs: 1000 }],
    ['memory with a limit', sh('tail /dev/zero'), { limit: 1 }, { code: 137, atMs: 0 }],
    ['memory without', ['tail', '/dev/zero'], {}, { code: undefined }],
    ['a shell without input', ['sh'], {}, { code: 0, atMs: 0 }],
    ['a server', ['httpd', '-f'], {}, { code: undefined }],
  ];
  for (const [name, args, options, want] of cases) {
    test(name, async () => {
      expect(await run(args, options)).toMatchObject(want);
    });
  }
});

describe('what looks around goes on', () => {
  const scripts = [
    'cat /etc/resolv.conf /etc/hosts; sleep 1000',
    'find /v -type f -o -type l | sort; sleep 1000',
    'id; ls -ln / | grep e; sleep 1000',
    'hostname; cat /etc/hosts; sleep 1000',
    'env; sleep 1000',
    'while ! test -e /tmp/ok; do sleep 1; done',
  ];
  for (const text of scripts) {
    test(text, async () => expect(await run(sh(text))).toMatchObject({ code: undefined, err: '' }));
  }
});

describe('what cannot be run', () => {
  const missing = [
    [['/no/such/binary'], 'exec: "/no/such/binary": stat /no/such/binary: no such file or directory'],
    [['nosuch', '-x'], 'exec: "nosuch": executable file not found in $PATH'],
    [[], 'args must not be empty'],
  ] as const;
  for (const [args, words] of missing) {
    test(words, () => expect(findProgram(args)).toEqual({ error: expect.stringContaining(words) }));
  }

  test('a script that is not understood ends with 255 and says so', async () => {
    const { code, err } = await run(sh('echo $(date)'));
    expect([code, err]).toEqual([255, expect.stringContaining('shell: cannot read')]);
  });
});
