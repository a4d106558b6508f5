// The manager with sockets and plugins in memory, on the fake clock. On real sockets: test/suites/files/plugins.test.ts.
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { FakeClock } from '../../test/fakes/fake-clock.ts';
import type { RegistrationStatus } from '../api/kubelet/generated/pluginregistration/v1/api.ts';
import { startComponent } from '../base/component.ts';
import { KubeletError } from '../base/errors.ts';
import { type LogFields, silentLogger } from '../base/log/log.ts';
import { Metrics } from '../base/metrics.ts';
import type { PluginHandler, PluginInfo } from './plugin-handler.ts';
import { PluginManager } from './plugin-manager.ts';
import { countPlugins } from './plugin-metrics.ts';

const hang = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)));

interface FakePlugin {
  info: (
    signal: AbortSignal,
  ) => Promise<{ type: string; name: string; endpoint: string; supportedVersions: string[] }>;
  notify: (status: RegistrationStatus, signal: AbortSignal) => Promise<void>;
}

describe('the plugin manager', () => {
  let clock: FakeClock;
  let stop: AbortController;
  let stopped: Promise<void>;
  let manager: PluginManager;
  /** What happened, in order. */
  let seen: string[];
  let errors: string[];
  let plugins: Map<string, FakePlugin>;
  let handler: PluginHandler;
  let onSockets: (sockets: ReadonlyMap<string, string>) => void;
  let dials: number;
  let open: number;

  const plugin = (
    changes: Partial<FakePlugin> & { name?: string; type?: string; endpoint?: string } = {},
  ): FakePlugin => ({
    info: async () => ({
      type: changes.type ?? 'DevicePlugin',
      name: changes.name ?? 'gpu',
      endpoint: changes.endpoint ?? '',
      supportedVersions: ['v1'],
    }),
    notify: async ({ error, pluginRegistered }) => {
      seen.push(pluginRegistered ? 'notified: registered' : `notified: ${error}`);
    },
    ...changes,
  });

  beforeEach(async () => {
    clock = new FakeClock();
    stop = new AbortController();
    seen = [];
    errors = [];
    plugins = new Map();
    dials = 0;
    open = 0;
    handler = {
      validate: () => undefined,
      register: async ({ endpoint, name }) => void seen.push(`register ${name} at ${endpoint}`),
      deregister: async ({ endpoint, name }) => void seen.push(`deregister ${name} at ${endpoint}`),
    };
    const delegate: PluginHandler = {
      validate: (info) => handler.validate(info),
      register: (info, signal) => handler.register(info, signal),
      deregister: (ref) => handler.deregister(ref),
    };
    manager = new PluginManager({
      directory: '/r',
      clock,
      log: {
        ...silentLogger,
        error: (_: string, { err, retryInMs }: LogFields = {}) =>
          void errors.push(
            `${(err as Error).message}${retryInMs === undefined ? '' : ` (${retryInMs as number})`}`,
          ),
      },
      watch: (options) => {
        onSockets = options.onSockets;
        return { close: () => void seen.push('closed') };
      },
      handlers: new Map([['DevicePlugin', delegate]]),
      dial: async (socket) => {
        dials += 1;
        const found = plugins.get(socket);
        if (found === undefined) throw new KubeletError('unavailable', 'UNAVAILABLE', 'no listener');
        open += 1;
        return {
          info: (signal) => found.info(signal),
          notify: (status, signal) => found.notify(status, signal),
          close: () => {
            open -= 1;
          },
        };
      },
    });
    ({ stopped } = await startComponent(manager, stop.signal));
  });

  afterEach(async () => {
    stop.abort();
    await stopped;
    await clock.settle();
    expect(open).toBe(0);
  });

  async function sockets(now: Record<string, string>): Promise<void> {
    onSockets(new Map(Object.entries(now)));
    await clock.settle();
  }

  test('registers the plugin of a new socket, and deregisters it when the socket goes', async () => {
    plugins.set('/r/a', plugin());
    await sockets({ '/r/a': '1' });
    expect(seen).toEqual(['register gpu at /r/a', 'notified: registered']);
    await sockets({ '/r/a': '1' });
    expect(dials).toBe(1);
    await sockets({});
    expect(seen.slice(2)).toEqual(['deregister gpu at /r/a']);
  });

  test('uses the endpoint that the plugin names', async () => {
    plugins.set('/r/a', plugin({ endpoint: '/p/x' }));
    await sockets({ '/r/a': '1' });
    expect(seen[0]).toBe('register gpu at /p/x');
  });

  test('registers the plugin of a recreated socket again', async () => {
    plugins.set('/r/a', plugin());
    await sockets({ '/r/a': '1' });
    await sockets({ '/r/a': '2' });
    expect(seen).toEqual([
      'register gpu at /r/a',
      'notified: registered',
      'deregister gpu at /r/a',
      'register gpu at /r/a',
      'notified: registered',
    ]);
  });

  test('rejects a plugin of an unknown type and tries again with a backoff of 0.5 s up to 2m2s', async () => {
    plugins.set('/r/a', plugin({ type: '__proto__' }));
    await sockets({ '/r/a': '1' });
    const text = 'RegisterPlugin error -- no handler registered for plugin type: __proto__ at socket /r/a';
    expect(seen).toEqual([`notified: ${text}`]);
    expect(errors).toEqual([`${text} (500)`]);
    await clock.advance(600_000);
    const delays = errors.map((each) => Number(/\((\d+)\)$/.exec(each)?.[1]));
    expect(delays.slice(0, 10)).toEqual([500, 1e3, 2e3, 4e3, 8e3, 16e3, 32e3, 64e3, 122e3, 122e3]);
  });

  test('a recreated socket does not wait for the backoff of the old one', async () => {
    await sockets({ '/r/a': '1' });
    await clock.advance(60_000);
    expect(errors.at(-1)).toBe(
      'RegisterPlugin error -- dial failed at socket /r/a, err: rpc error: code = Unavailable desc = no listener (32000)',
    );
    plugins.set('/r/a', plugin());
    await sockets({ '/r/a': '2' });
    expect(seen).toEqual(['register gpu at /r/a', 'notified: registered']);
  });

  test('notifies the plugin why its validation or its registration failed', async () => {
    plugins.set('/r/a', plugin());
    handler.validate = () => 'bad name';
    await sockets({ '/r/a': '1' });
    handler.validate = () => undefined;
    handler.register = async () => {
      throw new KubeletError('internal', 'X', 'no room');
    };
    await clock.advance(500);
    handler.register = async () => void seen.push('registered');
    await clock.advance(1_000);
    expect(seen).toEqual([
      'notified: RegisterPlugin error -- plugin validation failed with err: bad name',
      'notified: RegisterPlugin error -- plugin registration failed with err: no room',
      'registered',
      'notified: registered',
    ]);
  });

  test('deregisters a plugin that did not learn of its registration, and tries again', async () => {
    const good = plugin();
    plugins.set(
      '/r/a',
      plugin({
        notify: async () => {
          throw new KubeletError('timeout', 'DEADLINE_EXCEEDED', 'late');
        },
      }),
    );
    await sockets({ '/r/a': '1' });
    expect(seen).toEqual(['register gpu at /r/a', 'deregister gpu at /r/a']);
    expect(errors[0]).toContain(
      'failed to send registration status at socket /r/a, err: rpc error: code = DeadlineExceeded desc = late',
    );
    plugins.set('/r/a', good);
    await clock.advance(500);
    expect(seen.slice(2)).toEqual(['register gpu at /r/a', 'notified: registered']);
  });

  test('a socket that goes during the registration cancels it', async () => {
    plugins.set('/r/a', plugin());
    handler.register = (_: PluginInfo, signal) => hang(signal);
    await sockets({ '/r/a': '1' });
    await sockets({});
    expect(errors).toEqual([]);
    // The handler might have registered the plugin when the abort arrived.
    expect(seen).toEqual(['deregister gpu at /r/a']);
    await clock.advance(300_000);
    expect(dials).toBe(1);
  });

  test('a handler that ignores its signal is given up, and the plugin is deregistered', async () => {
    plugins.set('/r/a', plugin());
    handler.register = () => new Promise(() => undefined);
    await sockets({ '/r/a': '1' });
    await clock.advance(180_000);
    expect(seen[0]).toBe('deregister gpu at /r/a');
    expect(seen[1]).toContain(
      'plugin registration failed with err: the registration of the plugin did not finish',
    );
  });

  test('the same plugin on two sockets stays registered until the last one goes', async () => {
    plugins.set('/r/a', plugin({ endpoint: '/p/x' }));
    plugins.set('/r/b', plugin({ endpoint: '/p/x' }));
    await sockets({ '/r/a': '1', '/r/b': '1' });
    seen = [];
    await sockets({ '/r/b': '1' });
    expect(seen).toEqual([]);
    await sockets({});
    expect(seen).toEqual(['deregister gpu at /p/x']);
  });

  test('hung plugins do not delay others, at most 64 at a time', async () => {
    const names = Array.from({ length: 100 }, (_, at) => `/r/${String(at).padStart(3, '0')}`);
    for (const name of names.slice(0, 63)) plugins.set(name, plugin({ info: hang }));
    for (const name of names.slice(63)) plugins.set(name, plugin({ name }));
    await sockets(Object.fromEntries(names.map((name) => [name, '1'])));
    expect(seen.filter((each) => each.startsWith('register'))).toHaveLength(37);
    expect(open).toBe(63);
  });

  test('counts sockets and registered plugins', async () => {
    const registry = new Metrics();
    countPlugins(registry, manager);
    plugins.set('/r/a', plugin());
    await sockets({ '/r/a': '1', '/r/b': '1' });
    expect(
      registry.render(),
    ).toBe(`# HELP plugin_manager_total_plugins [ALPHA] Number of plugins in Plugin Manager
# TYPE plugin_manager_total_plugins gauge
plugin_manager_total_plugins{socket_path="/r/a",state="actual_state_of_world"} 1
plugin_manager_total_plugins{socket_path="/r/a",state="desired_state_of_world"} 1
plugin_manager_total_plugins{socket_path="/r/b",state="desired_state_of_world"} 1
`);
    await sockets({});
    expect(registry.render()).toBe('');
  });

  test('stops without deregistering plugins', async () => {
    plugins.set('/r/a', plugin());
    plugins.set('/r/b', plugin({ info: hang }));
    await sockets({ '/r/a': '1', '/r/b': '1' });
    stop.abort();
    await stopped;
    expect(seen).toEqual(['register gpu at /r/a', 'notified: registered', 'closed']);
  });
});
