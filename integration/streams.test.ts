// exec, attach, cp, port-forward and run: by kubectl through the API server double, which authenticates to the kubelet
// by a certificate, and by WebSocket to the secure port.
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { request as httpsRequest } from 'node:https';
import { connect } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { beforeAll, describe, expect, test } from 'vitest';
import { createWebSocketStream } from 'ws';
import { SpdyClient } from '../src/edge/spdy/spdy-client.ts';
import { openTunnel } from '../test/clients/tunnel-client.ts';
import { olderContainerdReason } from './rig/installed-containerd.ts';
import type { Kubelet } from './rig/kubelet.ts';
import { describeOnRig } from './rig/on-rig.ts';
import type { Rig } from './rig/rig.ts';
import { waitFor } from './rig/wait.ts';
import { type Cluster, kubectlUnavailableReason } from './support/cluster.ts';
import { container, exitsOnTerm, manifest } from './support/manifest.ts';
import { kubectl, onTerminal, openConnections, startKubectl, webSocketExec } from './support/streams.ts';
import { useClusterNode } from './support/suite-node.ts';

const mebibyte = 1024 * 1024;

function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

describeOnRig('streams', () => {
  let rig: Rig;
  let cluster: Cluster;
  let kubelet: Kubelet;

  /** Waits until the kubelet has no connections except for those to the API server and on its plain ports. */
  const untilClosed = async (): Promise<void> => {
    const others = [cluster.port, kubelet.healthzPort, kubelet.readOnlyPort];
    const noneLeft = (): boolean => {
      const left = openConnections(kubelet.pid ?? 0, others);
      if (left.length > 0) throw new Error(`still open on ${kubelet.securePort}: ${left.join(', ')}`);
      return true;
    };
    await waitFor(noneLeft, 'all connections of streams to close', 40_000);
  };

  useClusterNode(
    (node) => ({ rig, cluster, kubelet } = node),
    ({ kubeletConfig }) => ({ config: kubeletConfig }),
  );

  beforeAll(async () => {
    const counting = `nc -ll -p 9000 -e sh -c 'head -c ${mebibyte} | wc -c' & httpd -p 8080 -h /tmp`;
    cluster.createPod(
      manifest('target', {
        initContainers: [container('side', exitsOnTerm, { restartPolicy: 'Always' })],
        containers: [container('main', `echo hello > /tmp/index.html; ${counting}; ${exitsOnTerm}`)],
      }),
    );
    cluster.createPod(
      manifest('listener', {
        restartPolicy: 'Never',
        containers: [container('main', 'read line; echo "heard $line"', { stdin: true, stdinOnce: true })],
      }),
    );
    await cluster.untilReady('target');
    await cluster.untilReady('listener');
  });

  describe('at the secure port', () => {
    const v4 = 'v4.channel.k8s.io';
    const v5 = 'v5.channel.k8s.io';

    test.each([v4, v5])(
      'a WebSocket (%s) carries outputs and exit status, and requires a certificate',
      async (offered) => {
        const script = 'echo out; echo err >&2; exit 3';
        const command = ['sh', '-c', script];
        const exec = await webSocketExec(
          cluster,
          kubelet,
          'target/main',
          command,
          'output=1&error=1',
          offered,
        );
        const { protocol, output } = await exec.ended;
        expect(protocol).toBe(offered);
        expect([output[1], output[2]]).toEqual(['out\n', 'err\n']);
        expect(JSON.parse(output[3] ?? '')).toMatchObject({
          status: 'Failure',
          reason: 'NonZeroExitCode',
          details: { causes: [{ reason: 'ExitCode', message: '3' }] },
        });
        const withoutCertificate = { admin: { cert: '', key: '' } };
        await expect(webSocketExec(withoutCertificate, kubelet, 'target/main', ['id'])).rejects.toThrow(
          '401',
        );
      },
    );

    test.each([v4, v5])('a WebSocket (%s) carries input and the terminal size', async (offered) => {
      const script =
        'while [ "$(stty size)" != "40 100" ]; do sleep 0.1; done; read line; echo "$line at $(tty)"';
      const streams = 'input=1&output=1&tty=1';
      const command = ['sh', '-c', script];
      const exec = await webSocketExec(cluster, kubelet, 'target/side', command, streams, offered);
      exec.send(4, JSON.stringify({ Width: 100, Height: 40 }));
      exec.send(0, 'typed\n');
      const { output } = await exec.ended;
      expect(output[1]).toContain('typed at /dev/pts/');
      expect(JSON.parse(output[3] ?? '')).toMatchObject({ status: 'Success' });
    });

    test('a v5 WebSocket ends stdin alone, and carries megabytes both ways unchanged', async () => {
      const command = ['sh', '-c', 'tee /tmp/v5 | sha256sum >&2; sleep 1; cat /tmp/v5'];
      const streams = 'input=1&output=1&error=1';
      const exec = await webSocketExec(cluster, kubelet, 'target/main', command, streams, v5);
      const hash = createHash('sha256');
      exec.socket.on('message', (data: Buffer) => void (data[0] === 1 && hash.update(data.subarray(1))));
      const sent = randomBytes(8 * mebibyte);
      // Of any length: one message of a megabyte, others of a few bytes.
      const sizes = [mebibyte, 1, 2, 3, 65_536];
      for (let at = 0, turn = 0; at < sent.length; turn++) {
        const size = sizes[turn % sizes.length] ?? 1;
        exec.socket.send(Buffer.concat([Buffer.from([0]), sent.subarray(at, at + size)]));
        at += size;
      }
      exec.send(255, '\0');
      const { code, output } = await exec.ended;
      expect(output[2]).toContain(sha256(sent));
      expect(hash.digest('hex')).toBe(sha256(sent));
      expect({ code, status: JSON.parse(output[3] ?? '') }).toEqual({
        code: 1000,
        status: { metadata: {}, status: 'Success' },
      });
    });

    test('a v5 WebSocket reports why the runtime cannot run the command', async () => {
      const exec = await webSocketExec(cluster, kubelet, 'target/main', ['/none'], 'output=1', v5);
      const { code, output } = await exec.ended;
      expect(code).toBe(1000);
      expect(JSON.parse(output[3] ?? '')).toMatchObject({
        status: 'Failure',
        reason: 'InternalError',
        message: expect.stringMatching(/^Internal error occurred: .*no such file or directory/s),
      });
    });

    test.each([v4, v5])('one exec after another (%s) leaves no socket open', async (offered) => {
      for (let at = 0; at < 50; at++) {
        const exec = await webSocketExec(cluster, kubelet, 'target/main', ['true'], 'output=1', offered);
        await exec.ended;
      }
      await untilClosed();
    });

    test('many v5 sessions at once carry their own data', async () => {
      const command = ['sh', '-c', 'read line; echo "$line"; exit 7'];
      const sessions = await Promise.all(
        Array.from({ length: 20 }, () =>
          webSocketExec(cluster, kubelet, 'target/main', command, 'input=1&output=1', v5),
        ),
      );
      for (const [at, session] of sessions.entries()) session.send(0, `line ${at}\n`);
      const ended = await Promise.all(sessions.map((session) => session.ended));
      expect(ended.map(({ output }) => output[1])).toEqual(sessions.map((_, at) => `line ${at}\n`));
      expect(ended.every(({ output }) => (output[3] ?? '').includes('"message":"7"'))).toBe(true);
      await untilClosed();
    });

    test('a v5 client that does not read keeps its command waiting, and gets everything later', async () => {
      const command = ['sh', '-c', `head -c ${32 * mebibyte} /dev/zero; echo done >&2`];
      const exec = await webSocketExec(cluster, kubelet, 'target/main', command, 'output=1&error=1', v5);
      let bytes = 0;
      exec.socket.on('message', (data: Buffer) => {
        if (data[0] === 1) bytes += data.length - 1;
      });
      exec.socket.pause();
      await new Promise((resolve) => setTimeout(resolve, 2_000));
      exec.socket.resume();
      const { output } = await exec.ended;
      expect({ bytes, stderr: output[2] }).toEqual({ bytes: 32 * mebibyte, stderr: 'done\n' });
    });

    test('port-forward tunnels SPDY through a WebSocket', async () => {
      const url = `wss://127.0.0.1:${kubelet.securePort}/portForward/default/target`;
      const tls = { ...cluster.admin, rejectUnauthorized: false };
      const { protocol, socket } = openTunnel(url, ['SPDY/3.1+portforward.k8s.io'], tls);
      await once(socket, 'open');
      expect(protocol()).toBe('SPDY/3.1+portforward.k8s.io');
      const tunnel = createWebSocketStream(socket);
      const chunks: Buffer[] = [];
      const spdy = new SpdyClient(tunnel, () => undefined);
      tunnel.on('data', (chunk: Buffer) => spdy.received(chunk));
      const ended = new Promise((resolve) => {
        const headers = { port: '8080', requestid: '0' };
        spdy.open({ ...headers, streamtype: 'error' }, {});
        const id = spdy.open(
          { ...headers, streamtype: 'data' },
          { data: (piece) => chunks.push(piece), ended: resolve },
        );
        const asked = 'GET / HTTP/1.0\r\n\r\n';
        void waitFor(() => spdy.ready, 'the streams', 10_000).then(() => spdy.write(id, Buffer.from(asked)));
      });
      await ended;
      expect(Buffer.concat(chunks).toString()).toMatch(/^HTTP\/1\.\d 200 OK\r\n[^]*hello\n$/);
      socket.close();
      await once(socket, 'close');
      await untilClosed();
      const metrics = await fetch(`http://127.0.0.1:${kubelet.readOnlyPort}/metrics`);
      expect(await metrics.text()).toMatch(
        /kubelet_websocket_streaming_requests_total\{subresource="portforward"\} \d/,
      );
    });

    test.each([v4, v5])(
      'a vanished client (%s) ends its command, and nothing stays open',
      async (offered) => {
        const script = 'echo ready; cat; true vanished';
        const streams = 'input=1&output=1';
        const command = ['sh', '-c', script];
        const exec = await webSocketExec(cluster, kubelet, 'target/main', command, streams, offered);
        await waitFor(() => exec.output[1]?.includes('ready'), 'the command to run', 30_000);
        exec.socket.terminate();
        // containerd 1 ends the input of the command, containerd 2 kills it.
        const count = ['sh', '-c', "ps | grep -c '[t]rue vanished'"];
        const isOver = async (): Promise<boolean> => {
          const look = await webSocketExec(cluster, kubelet, 'target/main', count);
          return (await look.ended).output[1] === '0\n';
        };
        await waitFor(isOver, 'the command to end', 60_000);
        await untilClosed();
      },
    );

    const spdy = { connection: 'Upgrade', upgrade: 'SPDY/3.1', 'x-stream-protocol-version': 'v9' };
    const webSocket = { connection: 'Upgrade', upgrade: 'websocket' };
    const exec = '/exec/default/target/main?output=1&command=id';
    const negotiated = (accepted: string): string =>
      `403 unable to upgrade: unable to negotiate protocol: client supports [v9], server accepts [${accepted}]\n`;

    // containerd's own text: kubelet and runtime use the same library of Kubernetes, in different releases.
    const missing =
      'unable to upgrade: header X-Stream-Protocol-Version does not exist in request with 4 headers';
    const unnegotiated =
      olderContainerdReason(2) === undefined
        ? `400 ${missing}\n${missing}\n`
        : '400 unable to upgrade: X-Stream-Protocol-Version is required\n';

    // Byte for byte the responses of kubelet v1.34.11 on the same containerd.
    test.each([
      ['POST', exec, {}, '500 Upgrade request required\n'],
      ['GET', '/portForward/default/target', {}, '500 Upgrade request required\n'],
      ['POST', '/exec/default/target/main', spdy, '400 you must specify at least 1 of stdin, stdout, stderr'],
      ['GET', '/portForward/default/target', webSocket, '400 query parameter "port" is required'],
      ['POST', '/exec/default/target/none?output=1', spdy, '500 container not found ("none")'],
      ['POST', '/exec/default/none/main?output=1', spdy, '404 pod does not exist'],
      [
        'POST',
        '/attach/default/target/none?output=1',
        spdy,
        '500 container none not found in pod target_default',
      ],
      ['POST', '/portForward/default/target/another-uid', spdy, '404 pod not found'],
      ['POST', '/portForward/default/target', spdy, negotiated('portforward.k8s.io')],
      ['POST', exec, webSocket, '405 bad method'],
      ['POST', exec, { ...webSocket, upgrade: 'other' }, unnegotiated],
      ['POST', '/run/default/target/main?cmd=id', {}, '200 uid=0(root) gid=0(root) groups=0(root)\n'],
      ['POST', '/run/default/target/main?cmd=true', {}, '200 '],
      [
        'POST',
        '/run/default/target/main?cmd=cat+/none',
        {},
        "500 command 'cat /none' exited with 1: cat: can't open '/none': No such file or directory\n",
      ],
      ['GET', '/run/default/target/main?cmd=id', {}, '405 405: Method Not Allowed'],
    ])('%s %s %j', async (method, path, headers, want) => {
      const tls = { ...cluster.admin, rejectUnauthorized: false, agent: false as const };
      const url = `https://127.0.0.1:${kubelet.securePort}${path}`;
      const outgoing = httpsRequest(url, { ...tls, method, headers }).end();
      const [answer] = await once(outgoing, 'response');
      expect(`${answer.statusCode} ${await text(answer)}`).toBe(want);
    });
  });

  describe.skipIf(kubectlUnavailableReason !== undefined)(
    `kubectl${kubectlUnavailableReason === undefined ? '' : ` (${kubectlUnavailableReason})`}`,
    () => {
      const exec = (...args: readonly string[]): readonly string[] => [
        'exec',
        'target',
        '-c',
        'main',
        ...args,
      ];

      test.each([
        [0, 'echo out; echo err >&2'],
        [1, 'exit 1'],
        [137, 'kill -9 $$'],
      ])('exec exits with %i', async (code, script) => {
        const ended = await kubectl(cluster, exec('--', 'sh', '-c', script));
        expect(ended.code).toBe(code);
        if (code === 0) expect([ended.stdout.toString(), ended.stderr]).toEqual(['out\n', 'err\n']);
        else expect(ended.stderr).toContain(`command terminated with exit code ${code}`);
      });

      test('exec transfers much data in both directions unchanged', async () => {
        const sent = randomBytes(16 * mebibyte);
        const script = 'tee /tmp/big | sha256sum >&2; cat /tmp/big';
        const { code, stderr, stdout } = await kubectl(cluster, exec('-i', '--', 'sh', '-c', script), sent);
        expect({ code, bytes: stdout.length }).toEqual({ code: 0, bytes: sent.length });
        expect(stderr).toContain(sha256(sent));
        expect(sha256(stdout)).toBe(sha256(sent));
      });

      test('exec allocates a terminal', async () => {
        const script = 'test -t 0 && test -t 1 && echo at $(tty)';
        const { stdout } = await onTerminal(cluster, exec('-it', '--', 'sh', '-c', script));
        expect(stdout.toString()).toMatch(/at \/dev\/pts\/\d+\r\n/);
      });

      test('attach carries input and output, and ends with the container', async () => {
        const { stdout } = await kubectl(
          cluster,
          ['attach', '-i', 'listener', '-c', 'main'],
          Buffer.from('me\n'),
        );
        expect(stdout.toString()).toContain('heard me');
        await cluster.untilPod('listener', 'to end', ({ phase }) => phase === 'Succeeded');
      });

      test('cp copies in both directions', async () => {
        const [there, back] = [join(rig.workspace.dir, 'there'), join(rig.workspace.dir, 'back')];
        writeFileSync(there, randomBytes(2 * mebibyte));
        await cluster.kubectl('cp', there, 'default/target:/tmp/copied', '-c', 'main');
        await cluster.kubectl('cp', 'default/target:/tmp/copied', back, '-c', 'main');
        expect(sha256(readFileSync(back))).toBe(sha256(readFileSync(there)));
      });

      test('port-forward carries parallel connections, one that the server closes, and one to a closed port', async () => {
        const forward = startKubectl(cluster, ['port-forward', 'target', ':8080', ':9000', ':9999']);
        let output = '';
        forward.child.stdout?.on('data', (chunk: Buffer) => {
          output += chunk.toString();
        });
        const localPort = (port: number): Promise<number> =>
          waitFor(
            () =>
              Number(new RegExp(`127\\.0\\.0\\.1:(\\d+) -> ${port}`).exec(output)?.[1] ?? 'x') || undefined,
            `the local port of ${port}`,
            60_000,
          );
        const [web, count, nobody] = await Promise.all([8080, 9000, 9999].map(localPort));
        const get = async (): Promise<string> => (await fetch(`http://127.0.0.1:${web}/`)).text();
        expect(await Promise.all([get(), get()])).toEqual(['hello\n', 'hello\n']);
        const counted = connect(count ?? 0, '127.0.0.1');
        counted.write(Buffer.alloc(mebibyte));
        expect((await text(counted)).trim()).toBe(String(mebibyte));
        expect(await text(connect(nobody ?? 0, '127.0.0.1'))).toBe('');
        forward.child.kill();
        expect((await forward.ended).stderr).toMatch(/error forwarding port 9999 to pod .*refused/s);
        await untilClosed();
      });

      test('rejects an unknown container, an unknown pod and the kubelet’s own API', async () => {
        const wrong = await kubectl(cluster, ['exec', 'target', '-c', 'none', '--', 'id']);
        expect(wrong.stderr).toContain('container none is not valid for pod target');
        const absent = await kubectl(cluster, ['exec', 'absent', '-c', 'main', '--', 'id']);
        expect(absent.stderr).toContain('pods "absent" not found');
        const raw = await cluster.kubectl('get', '--raw', '/api/v1/nodes/node1/proxy/pods');
        expect(JSON.parse(raw)).toMatchObject({ kind: 'PodList' });
      });

      test('a dead runtime cuts off clients, and the kubelet keeps serving', async () => {
        const script = 'echo begun; sleep 1000';
        const running = startKubectl(cluster, exec('--', 'sh', '-c', script));
        const direct = await webSocketExec(cluster, kubelet, 'target/main', ['sh', '-c', script]);
        await new Promise((resolve) => running.child.stdout?.once('data', resolve));
        await rig.containerd.kill9();
        // Without a status; over SPDY kubectl treats that as success, with any kubelet.
        await running.ended;
        const { code, output } = await direct.ended;
        expect({ code, status: output[3] ?? '' }).toEqual({ code: 1006, status: '' });
        expect((await kubectl(cluster, exec('--', 'true'))).code).not.toBe(0);
        expect(kubelet.running).toBe(true);
        await rig.containerd.start();
        const again = async (): Promise<boolean> => (await kubectl(cluster, exec('--', 'true'))).code === 0;
        await waitFor(again, 'exec to work again', 60_000);
        await untilClosed();
      });
    },
  );
});
