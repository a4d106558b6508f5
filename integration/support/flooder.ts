// A hostile network client in a process of its own: floods one port in one way for a limited time, then prints its
// counts as JSON. HTTP/2 frames are prebuilt bytes, so that the client costs little and the server's work dominates.
//
//   node flooder.mjs SHAPE PORT SECONDS [FROM-ADDRESS | many [CONNECTIONS]]
//
// many: each connection has its own source address, from 127.2.0.0/16.
import { randomBytes } from 'node:crypto';
import { connect as connectTcp, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';

const host = '127.0.0.1';
const preface = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');

function frame(type: number, flags: number, stream: number, payload: Uint8Array): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

/** An HPACK integer with a prefix of `bits`. */
function integer(value: number, bits: number, first: number): number[] {
  const most = 2 ** bits - 1;
  if (value < most) return [first | value];
  const bytes = [first | most];
  let rest = value - most;
  for (; rest >= 128; rest >>= 7) bytes.push((rest & 127) | 128);
  return [...bytes, rest];
}

const text = (value: string): number[] => [...integer(value.length, 7, 0), ...Buffer.from(value)];

/** A GET request with literal fields only, so that nothing enters the server's dynamic table. */
function requestBlock(path: string, token?: string): Buffer {
  const authority = [0x01, ...text('127.0.0.1')];
  const bearer = token === undefined ? [] : [0x0f, 0x08, ...text(`Bearer ${token}`)];
  return Buffer.from([0x82, 0x87, 0x04, ...text(path), ...authority, ...bearer]);
}

const settings = frame(4, 0, 0, Buffer.alloc(0));
const settingsAck = frame(4, 1, 0, Buffer.alloc(0));
const window = frame(8, 0, 0, Buffer.from([0x3f, 0xff, 0, 0]));
const greeting = Buffer.concat([preface, settings, settingsAck, window]);

export interface FloodCounts {
  opened: number;
  secured: number;
  closed: number;
  failed: number;
  sent: number;
  receivedBytes: number;
}

const counts: FloodCounts = { opened: 0, secured: 0, closed: 0, failed: 0, sent: 0, receivedBytes: 0 };

type Fill = (socket: Socket, state: { stream: number }) => void;

/** Writes repeatedly while the server accepts it, some kilobytes at a time. */
function pump(socket: Socket, fill: Fill): void {
  const state = { stream: 1 };
  let stopped = false;
  const round = (): void => {
    if (stopped || socket.destroyed) return;
    fill(socket, state);
    if (socket.writableNeedDrain) socket.once('drain', () => setImmediate(round));
    else setTimeout(round, 1);
  };
  socket.once('close', () => {
    stopped = true;
  });
  round();
}

function requests(perRound: number, block: () => Buffer, reset = false): Fill {
  return (socket, state) => {
    const frames: Buffer[] = [];
    for (let each = 0; each < perRound; each++) {
      frames.push(frame(1, 5, state.stream, block()));
      if (reset) frames.push(frame(3, 0, state.stream, Buffer.from([0, 0, 0, 8])));
      state.stream += 2;
      counts.sent++;
    }
    socket.write(Buffer.concat(frames));
  };
}

const plainBlock = requestBlock('/pods');
const repeated =
  (bytes: Buffer, times = 1): Fill =>
  (socket) => {
    socket.write(Buffer.concat(Array.from({ length: times }, () => bytes)));
    counts.sent += times;
  };
const once =
  (bytes: () => Buffer | string): Fill =>
  (socket, state) => {
    if (state.stream > 1) return;
    state.stream = 2;
    socket.write(bytes());
    counts.sent++;
  };

interface Shape {
  readonly tls: 'h2' | 'http/1.1' | 'half-open' | undefined;
  readonly connections: number;
  /** Reopens connections that the server has closed. */
  readonly again?: boolean;
  readonly fill?: Fill;
}

const oneRequest = 'GET /pods HTTP/1.1\r\nhost: x\r\n\r\n';

const shapes: Readonly<Record<string, Shape>> = {
  'idle-tcp': { tls: undefined, connections: 1_500, again: true },
  'half-open-tls': {
    tls: 'half-open',
    connections: 1_500,
    again: true,
    // A record header that announces a ClientHello.
    fill: once(() => Buffer.from([22, 3, 1, 0, 200, 1])),
  },
  'tls-handshakes': { tls: 'http/1.1', connections: 40, again: true, fill: (socket) => socket.destroy() },
  'idle-h2': { tls: 'h2', connections: 300, again: true, fill: once(() => greeting) },
  'h2-requests': { tls: 'h2', connections: 150, again: true, fill: requests(20, () => plainBlock) },
  'h2-rapid-reset': { tls: 'h2', connections: 100, again: true, fill: requests(50, () => plainBlock, true) },
  'h2-pings': {
    tls: 'h2',
    connections: 100,
    again: true,
    fill: repeated(frame(6, 0, 0, Buffer.alloc(8)), 200),
  },
  'h2-settings': {
    tls: 'h2',
    connections: 100,
    again: true,
    fill: repeated(frame(4, 0, 0, Buffer.from([0, 4, 0, 0, 255, 255])), 200),
  },
  'h2-continuation': {
    tls: 'h2',
    connections: 100,
    again: true,
    fill: (socket, state) => {
      const block = Buffer.from([0x00, ...text('x-filler'), ...text('y'.repeat(8_000))]);
      if (state.stream === 1) socket.write(frame(1, 1, 1, plainBlock));
      state.stream = 3;
      for (let each = 0; each < 4; each++) socket.write(frame(9, 0, 1, block));
      counts.sent += 4;
    },
  },
  'h1-pipelined': {
    tls: 'http/1.1',
    connections: 150,
    again: true,
    fill: repeated(Buffer.from(oneRequest), 50),
  },
  'random-tokens': {
    tls: 'h2',
    connections: 50,
    again: true,
    fill: requests(5, () => requestBlock('/pods', randomBytes(18).toString('hex'))),
  },
  'slow-headers': {
    tls: 'http/1.1',
    connections: 300,
    again: true,
    fill: once(() => 'GET /pods HTTP/1.1\r\nhost: x\r\nx-slow: '),
  },
  'huge-headers': {
    tls: 'http/1.1',
    connections: 100,
    again: true,
    fill: once(() => `GET /pods HTTP/1.1\r\nhost: x\r\nx-huge: ${'h'.repeat(200_000)}\r\n\r\n`),
  },
  'plain-idle': { tls: undefined, connections: 1_500, again: true },
  'plain-requests': {
    tls: undefined,
    connections: 150,
    again: true,
    fill: repeated(Buffer.from('GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n'), 50),
  },
  'plain-metrics': {
    tls: undefined,
    connections: 100,
    again: true,
    fill: repeated(Buffer.from('GET /metrics HTTP/1.1\r\nhost: x\r\n\r\n'), 5),
  },
  'plain-slow-headers': {
    tls: undefined,
    connections: 300,
    again: true,
    fill: once(() => 'GET /pods HTTP/1.1\r\nhost: x\r\nx-slow: '),
  },
};

let addresses = 0;
function nextAddress(): string {
  addresses = (addresses + 1) % 65_536;
  return `127.2.${addresses >> 8}.${addresses & 255}`;
}

function open(shape: Shape, port: number, ended: () => boolean, sockets: Set<Socket>): void {
  const { tls } = shape;
  const secure = tls === 'h2' || tls === 'http/1.1';
  const to = { host, port, localAddress: from === 'many' ? nextAddress() : from };
  const socket = secure
    ? connectTls({ ...to, rejectUnauthorized: false, ALPNProtocols: [tls] })
    : connectTcp(to);
  sockets.add(socket);
  socket.on('data', (chunk: Buffer) => {
    counts.receivedBytes += chunk.length;
  });
  socket.on('error', () => {
    counts.failed++;
  });
  socket.once('connect', () => {
    counts.opened++;
  });
  socket.once(secure ? 'secureConnect' : 'connect', () => {
    if (secure) counts.secured++;
    if (tls === 'h2' && shape !== shapes['idle-h2']) socket.write(greeting);
    if (shape.fill !== undefined) pump(socket, shape.fill);
  });
  socket.once('close', () => {
    counts.closed++;
    sockets.delete(socket);
    if (shape.again === true && !ended()) setTimeout(() => !ended() && open(shape, port, ended, sockets), 20);
  });
}

const [name = '', port = '', seconds = '', from = '127.0.0.2', connections] = process.argv.slice(2);
const shape = shapes[name];
if (shape !== undefined) {
  const sockets = new Set<Socket>();
  const endMs = performance.now() + Number(seconds) * 1_000;
  const ended = (): boolean => performance.now() >= endMs;
  const count = Number(connections ?? shape.connections);
  for (let each = 0; each < count; each++) open(shape, Number(port), ended, sockets);
  setTimeout(() => {
    for (const socket of sockets) socket.destroy();
    process.stdout.write(`${JSON.stringify(counts)}\n`, () => process.exit(0));
  }, Number(seconds) * 1_000);
}
