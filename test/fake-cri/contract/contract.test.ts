// Runs the CRI contract on the fake runtime, directly and over a socket; integration/ runs it on a real containerd.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { realClock } from '../../../src/base/clock.ts';
import { criClient } from '../../../src/edge/cri/client.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { FakeCri, fakeBusybox } from '../fake-cri.ts';
import { serveCri } from '../serve.ts';
import { criContract } from './cri-contract.ts';

function fake(events: boolean, streamsLists = events) {
  const clock = new FakeClock();
  const files = new Map<string, string>();
  const cri = new FakeCri({
    clock,
    events,
    streamsLists,
    writeLog: (path, line) => files.set(path, `${files.get(path) ?? ''}${line}\n`),
  });
  const common = {
    image: fakeBusybox.name,
    pauseReady: true,
    major: 1,
    stopsAbsent: false,
    hasEvents: events,
    streamsLists,
    logDirectory: '/var/log/pods',
    readLog: async (path: string) => files.get(path) ?? '',
  } as const;
  return { clock, cri, common };
}

criContract('fake runtime', async () => {
  const { clock, cri, common } = fake(true);
  return {
    ...common,
    runtime: cri,
    images: cri,
    advance: (ms) => clock.advance(ms),
    close: async () => cri.close(),
  };
});

criContract('fake runtime behind a socket, without events', async () => {
  const { clock, cri, common } = fake(false);
  const dir = await mkdtemp(join(tmpdir(), 'kubelet-cri-'));
  const served = await serveCri({ path: join(dir, 'r.sock'), parts: cri });
  const client = criClient({ runtimeEndpoint: served.endpoint, clock: realClock });
  return {
    ...common,
    runtime: client,
    images: client,
    // Requests and responses need more turns of the event loop than the fake clock yields.
    advance: async (ms) => {
      await client.version({});
      await clock.advance(ms);
      await client.version({});
    },
    close: async () => {
      client.close();
      await served.close();
      cri.close();
      await rm(dir, { recursive: true, force: true });
    },
  };
});
