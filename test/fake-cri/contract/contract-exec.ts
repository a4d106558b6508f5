// The CRI contract around a running container: ExecSync, logs, streaming, usage.
import { expect } from 'vitest';
import { isCommandTimeout } from '../../../src/api/cri/runtime.ts';
import { Aborted } from '../../../src/base/errors.ts';
import { failureOf } from '../failure-of.ts';
import { type DefineCase } from './contract-kit.ts';

export function execCases(define: DefineCase): void {
  define('ExecSync returns output and exit code', async ({ runtime }, kit) => {
    const pod = await kit.runPod();
    const containerId = await pod.start('c');
    const run = async (...cmd: string[]): Promise<unknown> => {
      const { value } = await kit.timeCall(runtime.execSync({ containerId, cmd, timeout: 10 }));
      return [value.exitCode, value.stdout.toString(), value.stderr.toString()];
    };
    expect(await run('true')).toEqual([0, '', '']);
    expect(await run('sh', '-c', 'echo out; echo err >&2; exit 3')).toEqual([3, 'out\n', 'err\n']);
    const failure = "cat: can't open '/tmp/ok': No such file or directory\n";
    expect(await run('cat', '/tmp/ok')).toEqual([1, '', failure]);
    expect(await run('sh', '-c', 'echo yes > /tmp/ok')).toEqual([0, '', '']);
    expect(await run('cat', '/tmp/ok')).toEqual([0, 'yes\n', '']);
    expect(await run('sh', '-c', 'rm /tmp/ok; test -e /tmp/ok')).toEqual([1, '', '']);
  });

  define('ExecSync without a timeout waits for the end of the command', async ({ runtime }, kit) => {
    const pod = await kit.runPod();
    const containerId = await pod.start('c');
    const { value } = await kit.timeCall(
      runtime.execSync({ containerId, cmd: ['sh', '-c', 'sleep 1; exit 2'] }),
    );
    expect(value.exitCode).toBe(2);
  });

  define(
    'a command that exceeds its timeout fails with an error of its own, and the container keeps running',
    async ({ runtime }, kit) => {
      const pod = await kit.runPod();
      const containerId = await pod.start('c');
      const late = failureOf(runtime.execSync({ containerId, cmd: ['sleep', '100'], timeout: 1 }));
      const { value } = await kit.timeCall(late);
      expect([value.kind, isCommandTimeout(value)]).toEqual(['timeout', true]);
      expect(value.message).toContain('timeout 1s exceeded');
      await kit.timeCall(runtime.execSync({ containerId, cmd: ['true'], timeout: 10 }));
    },
  );

  define(
    'ExecSync rejects a missing command and a container that is not running',
    async ({ runtime }, kit) => {
      const pod = await kit.runPod();
      const running = await pod.start('running');
      const words =
        'OCI runtime exec failed: exec failed: unable to start container process: exec: "/no/such": stat /no/such: no such file or directory';
      const absent = await failureOf(
        runtime.execSync({ containerId: running, cmd: ['/no/such'], timeout: 10 }),
      );
      expect(absent.message).toContain(words);
      const created = await pod.create('created');
      const err = await failureOf(runtime.execSync({ containerId: created, cmd: ['true'] }));
      expect(err.message).toBe('failed to exec in container: container is in CONTAINER_CREATED state');
      const exited = await pod.start('exited', { command: ['true'] });
      await pod.exited(kit, exited);
      const over = await failureOf(runtime.execSync({ containerId: exited, cmd: ['true'] }));
      expect(over.message).toBe('failed to exec in container: container is in CONTAINER_EXITED state');
    },
  );

  define(
    'an aborted call rejects with the reason of the signal, before and during the call',
    async (subject, kit) => {
      const { runtime } = subject;
      const pod = await kit.runPod();
      const containerId = await pod.start('c');
      const reason = new Aborted('not interested');
      const options = { signal: AbortSignal.abort(reason) };
      await expect(runtime.execSync({ containerId, cmd: ['true'] }, options)).rejects.toBe(reason);
      const abort = new AbortController();
      const call = runtime.execSync(
        { containerId, cmd: ['sleep', '100'], timeout: 200 },
        { signal: abort.signal },
      );
      const outcome = call.catch((err: unknown) => err);
      await subject.advance(200);
      abort.abort(reason);
      expect(await outcome).toBe(reason);
    },
  );

  define(
    'a log entry has time, stream, tag and text; an unfinished line is tagged partial',
    async (subject, kit) => {
      if (subject.logDirectory === undefined) return;
      const pod = await kit.runPod();
      const id = await pod.start('c', {
        // Two streams are two pipes: simultaneous writes to both may arrive in either order.
        command: ['sh', '-c', 'echo one; echo; printf two; sleep 0.2; echo; sleep 0.2; printf three >&2'],
      });
      await pod.exited(kit, id);
      await kit.until('the log is complete', async () => (await pod.readLog(id)).length >= 4);
      const lines = await pod.readLog(id);
      const time = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?Z /;
      for (const line of lines) expect(line).toMatch(time);
      const texts = lines.map((line) => line.replace(time, ''));
      expect(texts).toEqual(['stdout F one', 'stdout F ', 'stdout F two', 'stderr P three']);
    },
  );

  define('a log can be reopened only while the container runs', async ({ runtime }, kit) => {
    const pod = await kit.runPod();
    const containerId = await pod.start('c');
    await runtime.reopenContainerLog({ containerId });
    await kit.timeCall(runtime.stopContainer({ containerId, timeout: 0 }));
    await pod.exited(kit, containerId);
    expect((await failureOf(runtime.reopenContainerLog({ containerId }))).message).toBe(
      'container is not running',
    );
  });

  define('streaming calls return a URL, or report what is missing', async ({ runtime }, kit) => {
    const pod = await kit.runPod();
    const containerId = await pod.start('c');
    const urls = [
      await runtime.exec({ containerId, cmd: ['sh'], stdout: true }),
      await runtime.attach({ containerId, stdout: true }),
      await runtime.portForward({ podSandboxId: pod.id, port: [80] }),
    ];
    for (const { url } of urls) expect(url).toMatch(/^https?:\/\//);
    expect(await failureOf(runtime.exec({ containerId, cmd: ['sh'] }))).toMatchObject({ kind: 'invalid' });
    expect(await failureOf(runtime.attach({ containerId }))).toMatchObject({ kind: 'invalid' });
    const both = { containerId, cmd: ['sh'], tty: true, stdout: true, stderr: true };
    expect((await failureOf(runtime.exec(both))).message).toBe('tty and stderr cannot both be true');
  });

  define('only running containers have CPU and memory usage', async ({ runtime }, kit) => {
    const pod = await kit.runPod();
    const containerId = await pod.start('c');
    const { stats } = await runtime.containerStats({ containerId });
    expect(stats?.attributes).toMatchObject({
      id: containerId,
      metadata: { name: 'c' },
      labels: { container: 'c' },
    });
    expect(stats?.cpu?.usageCoreNanoSeconds?.value).toBeGreaterThan(0n);
    expect(stats?.memory?.workingSetBytes?.value).toBeGreaterThan(0n);
    const listed = await runtime.listContainerStats({ filter: { id: containerId } });
    expect(listed.stats.map((each) => each.attributes?.id)).toEqual([containerId]);
    const created = await pod.create('created');
    expect((await failureOf(runtime.containerStats({ containerId: created }))).kind).toBe('internal');
    const all = await runtime.listContainerStats({ filter: { podSandboxId: pod.id } });
    const used = new Map(all.stats.map((each) => [each.attributes?.id, each.cpu !== undefined]));
    expect(used).toEqual(
      new Map([
        [containerId, true],
        [created, false],
      ]),
    );
  });
}
