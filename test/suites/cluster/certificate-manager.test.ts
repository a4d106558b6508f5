// The certificate manager with real keys and requests, the API server double as approver and signer, on the fake clock.
import { expect, onTestFinished, test } from 'vitest';
import type { CertificatePair, CertificateTemplate } from '../../../src/api/ports/certificates.ts';
import { startComponent } from '../../../src/base/component.ts';
import { Verbosity } from '../../../src/base/log/log.ts';
import { textLogger } from '../../../src/base/log/log-text.ts';
import { Secret } from '../../../src/base/log/secret.ts';
import { Metrics } from '../../../src/base/metrics.ts';
import { CertificateManager, type CertificateManagerDeps } from '../../../src/certs/certificate-manager.ts';
import { measureServingCertificate } from '../../../src/certs/certificate-metrics.ts';
import { clientSigner, clientTemplate } from '../../../src/certs/certificate-request.ts';
import { csrApi } from '../../../src/certs/csr-api.ts';
import { readPair } from '../../../src/edge/certs/read-x509.ts';
import { ApiServerDouble, bootstrapUser, nodeUser } from '../../api-server/double.ts';
import { memoryClient } from '../../api-server/memory-client.ts';
import { TestAuthority } from '../../api-server/pki.ts';
import type { CertificateOptions } from '../../api-server/rules/certificate-controllers.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { memoryMaker } from '../../fakes/memory-certificates.ts';

const minuteMs = 60_000;
const hourSeconds = 3_600;

type ManagerOver = Partial<
  Pick<CertificateManagerDeps['keys'], 'store' | 'pendingKey'> & CertificateManagerDeps['policy']
>;

class World {
  readonly clock = new FakeClock();
  readonly lines: string[] = [];
  readonly double: ApiServerDouble;
  readonly authority: TestAuthority;
  /** The pair on disk. */
  stored: CertificatePair | undefined;
  pendingKey: Secret | undefined;
  template: CertificateTemplate | undefined = clientTemplate('n');
  updateFails = false;
  readonly #as: Record<'bootstrap' | 'node', ReturnType<typeof memoryClient>>;

  constructor(certificates: CertificateOptions = { seconds: hourSeconds }) {
    this.authority = new TestAuthority({ now: () => this.clock.now(), backdateSeconds: 0 });
    this.double = new ApiServerDouble({ clock: this.clock, sign: this.authority.sign, certificates });
    this.#as = {
      bootstrap: memoryClient(this.double, this.clock, bootstrapUser('abcdef')),
      node: memoryClient(this.double, this.clock, nodeUser('n')),
    };
    onTestFinished(() => this.double.close());
  }

  manager(over: ManagerOver = {}): CertificateManager {
    const write = (line: string): void => void this.lines.push(line);
    return new CertificateManager({
      request: { name: 'client', signerName: clientSigner, template: () => this.template },
      keys: {
        store: over.store ?? {
          current: async () => this.stored,
          update: async (certPem, key) => {
            const pair = readPair(certPem, key);
            if (this.updateFails) throw new Error('no space left on device');
            this.stored = pair;
            return pair;
          },
        },
        maker: memoryMaker,
        pendingKey:
          'pendingKey' in over
            ? over.pendingKey
            : {
                take: async () => {
                  this.pendingKey ??= await memoryMaker.newKey();
                  return this.pendingKey;
                },
                drop: async () => {
                  this.pendingKey = undefined;
                },
              },
      },
      api: async (has) => csrApi(has ? this.#as.node : this.#as.bootstrap),
      policy: {
        rotate: over.rotate ?? true,
        exitAfterMs: 'exitAfterMs' in over ? over.exitAfterMs : 5 * minuteMs,
      },
      random: () => 0.5,
      clock: this.clock,
      log: textLogger({ write, clock: this.clock, verbosity: new Verbosity(0), pid: 1 }),
    });
  }

  /** One run of the kubelet. */
  async start(over: ManagerOver = {}) {
    const manager = this.manager(over);
    const abort = new AbortController();
    const { stopped } = await manager.start(abort.signal);
    let failure: unknown;
    const ended = stopped.catch((err: unknown) => {
      failure = err;
    });
    const stop = async (): Promise<void> => {
      abort.abort();
      await this.clock.until(ended);
    };
    onTestFinished(stop);
    await this.clock.advance(10);
    return { manager, stop, failure: () => failure };
  }

  requests() {
    return this.double.objects.list('certificatesigningrequests').map((csr) => csr.metadata?.name ?? '');
  }

  decide(name: string, type: 'Approved' | 'Denied'): void {
    const condition = { type, status: 'True', reason: 'Kubectl', message: 'by hand' };
    const status = { conditions: [condition] };
    this.double.objects.patch('certificatesigningrequests', '', name, { status }, 'approval');
  }
}

test('without a certificate, requests one with the bootstrap token, stores it and drops the pending key', async () => {
  const world = new World();
  const { manager } = await world.start();
  expect(manager.pair()?.facts).toMatchObject({
    commonName: 'system:node:n',
    organizations: ['system:nodes'],
  });
  expect(world.stored).toBe(manager.pair());
  expect(world.pendingKey).toBeUndefined();
  expect(world.requests()).toEqual([expect.stringMatching(/^node-csr-/)]);
  expect(manager.ttlSeconds()).toBe(hourSeconds - 1);
  const [csr] = world.double.objects.list('certificatesigningrequests');
  expect(csr?.spec).toMatchObject({
    username: 'system:bootstrap:abcdef',
    signerName: clientSigner,
    usages: ['digital signature', 'client auth'],
  });
});

test('renews the certificate at 80 % of its lifetime with a new key, as the node, every time', async () => {
  const world = new World();
  const { manager } = await world.start();
  const agesSeconds: (number | undefined)[] = [];
  let changes = 0;
  manager.renewed.subscribe((seconds) => agesSeconds.push(seconds));
  manager.changed.subscribe(() => changes++);
  const first = manager.pair();
  await world.clock.advance(47 * minuteMs);
  expect(manager.pair()).toBe(first);
  await world.clock.advance(2 * minuteMs);
  expect(manager.pair()).not.toBe(first);
  expect(manager.pair()?.key.reveal()).not.toBe(first?.key.reveal());
  await world.clock.advance(100 * minuteMs);
  expect([changes, world.requests().length]).toEqual([3, 4]);
  expect(agesSeconds[0]).toBeCloseTo(0.8 * hourSeconds, -2);
  const requesters = world.double.objects.list('certificatesigningrequests').map(({ spec }) => spec.username);
  expect(new Set(requesters)).toEqual(new Set(['system:bootstrap:abcdef', 'system:node:n']));
});

test('resumes a pending request after a restart', async () => {
  const world = new World({ decide: () => 'wait' });
  const first = await world.start();
  const [name = ''] = world.requests();
  await first.stop();
  const { manager } = await world.start();
  expect(world.requests()).toEqual([name]);
  world.decide(name, 'Approved');
  await world.clock.advance(1_000);
  expect(manager.pair()).toBeDefined();
});

test('fetches the issued certificate after a restart before it was stored', async () => {
  const world = new World();
  world.updateFails = true;
  const first = await world.start();
  await first.stop();
  expect(first.manager.pair()).toBeUndefined();
  world.updateFails = false;
  const { manager } = await world.start();
  expect(manager.pair()).toBeDefined();
  expect(world.requests()).toHaveLength(1);
});

test('a denied request is logged once and retried with another key and increasing back-off', async () => {
  const world = new World({ decide: () => 'deny' });
  const { manager } = await world.start();
  let failures = 0;
  manager.failed.subscribe(() => failures++);
  await world.clock.advance(10 * minuteMs);
  expect(
    world.lines.some((line) => line.includes('is denied, reason: NotWanted, message: denied by the double')),
  ).toBe(true);
  expect(new Set(world.requests()).size).toBe(world.requests().length);
  expect(failures).toBeGreaterThan(10);
  expect(failures).toBeLessThan(23);
  expect(manager.pair()).toBeUndefined();
});

test('retries a request that the signer failed', async () => {
  let refuse = true;
  const world = new World({ seconds: hourSeconds });
  const bad = { ...clientTemplate('n'), organizations: ['others'] };
  world.template = bad;
  const approve = world.double.store.subscribe(({ after, type }) => {
    if (!refuse || type.plural !== 'certificatesigningrequests' || after?.status === undefined) return;
    const { conditions = [] } = after.status as { conditions?: unknown[] };
    if (conditions.length === 0) queueMicrotask(() => world.decide(after.metadata.name ?? '', 'Approved'));
  });
  onTestFinished(approve);
  const { manager } = await world.start();
  await world.clock.advance(1_000);
  expect(world.lines.join('')).toContain(
    'SignerValidationFailure, message: subject organization is not system:nodes',
  );
  refuse = false;
  world.template = clientTemplate('n');
  manager.poke();
  await world.clock.advance(1_000);
  expect(manager.pair()).toBeDefined();
});

test('retries while the API server is down, and keeps using the valid certificate', async () => {
  const world = new World();
  const { manager } = await world.start();
  const first = manager.pair();
  world.double.faults.goDown();
  await world.clock.advance(55 * minuteMs);
  expect(manager.pair()).toBe(first);
  world.double.faults.comeUp();
  await world.clock.advance(2 * minuteMs);
  expect(manager.pair()).not.toBe(first);
});

test('repeats a request under the same name if it is not approved within 15 minutes', async () => {
  const world = new World({ decide: () => 'wait' });
  await world.start();
  await world.clock.advance(40 * minuteMs);
  expect(world.requests()).toHaveLength(1);
  const created = world.double.requestLines().filter((line) => line.startsWith('create certificatesigning'));
  expect(created.length).toBeGreaterThan(1);
});

test('creates a deleted request again', async () => {
  const world = new World({ decide: () => 'wait' });
  await world.start();
  const [name = ''] = world.requests();
  world.double.objects.delete('certificatesigningrequests', '', name);
  await world.clock.advance(10_000);
  expect(world.requests()).toHaveLength(1);
  expect(world.lines.join('')).toContain('was deleted');
});

test('replaces a certificate that is expired or unreadable at the start', async () => {
  const world = new World();
  const first = await world.start();
  await first.stop();
  const old = world.stored;
  await world.clock.advance(2 * hourSeconds * 1000);
  const { manager, stop } = await world.start();
  expect(manager.pair()).not.toBe(old);
  expect(world.lines.join('')).toContain('Certificate has expired, requesting another one');
  await stop();
  const unreadable = {
    current: () => Promise.reject(new Error('x')),
    update: async () => world.stored as CertificatePair,
  };
  const third = await world.start({ store: unreadable });
  expect(third.manager.pair()).toBeDefined();
  expect(world.lines.join('')).toContain('Failed to read the certificate, requesting another one');
});

test('a clock a day ahead: a certificate that is expired on arrival is not requested in a tight loop', async () => {
  const world = new World();
  world.authority.skewMs = -24 * hourSeconds * 1000;
  const { manager } = await world.start({ exitAfterMs: undefined });
  await world.clock.advance(10 * minuteMs);
  expect(world.requests().length).toBeLessThan(25);
  expect(world.lines.join('')).toContain('not valid by the clock of this machine');
  // The server's clock may be right, so the certificate is presented anyway.
  expect(manager.pair()).toBeDefined();
  world.authority.skewMs = 0;
  await world.clock.advance(minuteMs);
  expect(manager.current()).toBeDefined();
});

test('a clock that is behind: the certificate is used, with a warning', async () => {
  const world = new World();
  world.authority.skewMs = 10 * minuteMs;
  const { manager } = await world.start();
  expect(manager.current()).toBeDefined();
  expect(world.lines.join('')).toContain('not valid by the clock of this machine');
});

test('fails the kubelet after five minutes of rejections without a valid certificate', async () => {
  const world = new World();
  world.double.faults.fail({ resource: 'certificatesigningrequests' }, { code: 401, times: 1000 });
  const { failure } = await world.start();
  await world.clock.advance(4 * minuteMs);
  expect(failure()).toBeUndefined();
  await world.clock.advance(3 * minuteMs);
  expect(String(failure())).toContain('no valid client certificate');
});

test('keeps the kubelet running without a certificate while the API server is down', async () => {
  const world = new World();
  world.double.faults.goDown();
  const { failure, manager } = await world.start();
  await world.clock.advance(60 * minuteMs);
  expect(failure()).toBeUndefined();
  world.double.faults.comeUp();
  await world.clock.advance(minuteMs);
  expect(manager.pair()).toBeDefined();
});

test('without rotation, requests the first certificate only', async () => {
  const world = new World();
  const { manager } = await world.start({ rotate: false });
  const first = manager.pair();
  expect(first).toBeDefined();
  await world.clock.advance(3 * hourSeconds * 1000);
  expect([manager.pair(), world.requests().length]).toEqual([first, 1]);
});

test('uses and stores the certificate of a kubeconfig, and renews it at once', async () => {
  const world = new World();
  const { cert, key } = world.authority.issue({
    commonName: 'admin',
    organizations: ['system:masters'],
    usage: 'client',
  });
  const manager = world.manager();
  await manager.load(readPair(cert, new Secret(key)));
  expect(manager.pair()?.facts.commonName).toBe('admin');
  const abort = new AbortController();
  const { stopped } = await manager.start(abort.signal);
  await world.clock.advance(10);
  expect(manager.pair()?.facts.commonName).toBe('system:node:n');
  abort.abort();
  await stopped;
});

test('a renamed node requests with the bootstrap token, since its old certificate may not request the new name', async () => {
  const world = new World();
  const { manager } = await world.start();
  world.template = clientTemplate('renamed');
  manager.poke();
  await world.clock.advance(10);
  expect(manager.pair()?.facts.commonName).toBe('system:node:renamed');
  expect(world.double.requests.filter(({ code }) => code === 403)).toEqual([]);
});

test('requests once addresses are known, and again when they change while the first request is pending', async () => {
  const world = new World({ decide: ({ metadata }) => (metadata?.name === 'none' ? 'approve' : 'wait') });
  world.template = undefined;
  const { manager } = await world.start({ pendingKey: undefined });
  await world.clock.advance(minuteMs);
  expect(world.requests()).toEqual([]);
  world.template = clientTemplate('n');
  manager.poke();
  await world.clock.advance(10);
  expect(world.requests()).toHaveLength(1);
  manager.poke();
  await world.clock.advance(minuteMs);
  expect(world.requests()).toHaveLength(1);
  world.template = clientTemplate('m');
  manager.poke();
  await world.clock.advance(10);
  expect(world.requests()).toHaveLength(2);
});

test('metrics report the remaining lifetime, the age of replaced certificates and the failures', async () => {
  const world = new World();
  const registry = new Metrics();
  const manager = world.manager();
  const measuring = measureServingCertificate(registry, manager);
  expect(registry.render()).toContain('kubelet_certificate_manager_server_ttl_seconds +Inf\n');
  const abort = new AbortController();
  await startComponent(measuring, abort.signal);
  const { stopped } = await manager.start(abort.signal);
  await world.clock.advance(50 * minuteMs);
  const text = registry.render();
  expect(text).toMatch(/^kubelet_certificate_manager_server_ttl_seconds 34\d\d$/m);
  expect(text).toContain('kubelet_certificate_manager_server_rotation_seconds_bucket{le="3600"} 1\n');
  expect(text).toContain('kubelet_server_expiration_renew_errors 0\n');
  world.double.faults.goDown();
  await world.clock.advance(49 * minuteMs);
  expect(registry.render()).toMatch(/^kubelet_server_expiration_renew_errors [1-9]/m);
  abort.abort();
  await stopped;
});
