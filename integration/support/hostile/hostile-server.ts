// A program for Node that violates HTTP on port 8000 and gRPC on port 9000 in many ways. The path of a request, or the
// service of a health check, selects the way; `next` iterates over them.
// Invariant: it respects backpressure, so that it never runs out of memory.

/** Each function is called with the connection after the first bytes of the request. */
const httpWays = `
  'informational-flood': (s) => forever(s, () => 'HTTP/1.1 103 Early Hints\\r\\nLink: </x>; rel=preload\\r\\n\\r\\n'.repeat(500)),
  'continue-flood': (s) => forever(s, () => 'HTTP/1.1 100 Continue\\r\\n\\r\\n'.repeat(500)),
  'endless-headers': (s) => { s.write('HTTP/1.1 200 OK\\r\\n'); forever(s, (n) => ('X-' + n + ': ' + 'y'.repeat(50) + '\\r\\n').repeat(200)); },
  'endless-header': (s) => { s.write('HTTP/1.1 200 OK\\r\\nX: '); forever(s, () => 'y'.repeat(65536)); },
  'endless-reason': (s) => { s.write('HTTP/1.1 200 '); forever(s, () => 'y'.repeat(65536)); },
  'endless-body': (s) => { s.write('HTTP/1.1 500 Bad\\r\\n\\r\\n'); forever(s, () => ' '.repeat(65536)); },
  'endless-chunks': (s) => { s.write('HTTP/1.1 500 Bad\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n'); forever(s, () => '1\\r\\na\\r\\n'.repeat(5000)); },
  'endless-extension': (s) => { s.write('HTTP/1.1 500 Bad\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n1;'); forever(s, () => 'y'.repeat(65536)); },
  'endless-trailers': (s) => { s.write('HTTP/1.1 500 Bad\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n0\\r\\n'); forever(s, (n) => ('X-' + n + ': y\\r\\n').repeat(500)); },
  'blank-lines': (s) => forever(s, () => '\\r\\n'.repeat(30000)),
  'garbage': (s) => forever(s, () => require('crypto').randomBytes(65536)),
  'upgrade': (s) => { s.write('HTTP/1.1 101 Switching Protocols\\r\\nConnection: upgrade\\r\\nUpgrade: x\\r\\n\\r\\n'); forever(s, () => 'y'.repeat(65536)); },
  'redirect-loop': (s) => s.end('HTTP/1.1 302 Found\\r\\nLocation: /redirect-loop\\r\\nContent-Length: 0\\r\\n\\r\\n'),
  'redirect-far': (s) => s.end('HTTP/1.1 302 Found\\r\\nLocation: /' + '%20'.repeat(20000) + '\\r\\nContent-Length: 0\\r\\n\\r\\n'),
  'lying-length': (s) => s.end('HTTP/1.1 500 Bad\\r\\nContent-Length: 18446744073709551615\\r\\n\\r\\nx'),
  'two-lengths': (s) => s.end('HTTP/1.1 500 Bad\\r\\nContent-Length: 1\\r\\nContent-Length: 5000\\r\\n\\r\\nx'),
  'control-characters': (s) => s.end('HTTP/1.1 500 \\u001b[2J\\r\\nContent-Length: 20000\\r\\n\\r\\n' + '\\u001b]0;x\\u0007\\r\\n \\0'.repeat(2000)),
  'drip': (s) => { let n = 0; const timer = setInterval(() => s.write('HTTP/1.1 200 OK\\r\\nX: y'[n++] ?? 'y'), 100); s.on('close', () => clearInterval(timer)); },
  'reset': (s) => s.resetAndDestroy(),
  'never': () => undefined,
`;

/** Each function is called with the connection, after the client's preface, and with the frame of the request. */
const grpcWays = `
  'settings-flood': (s) => forever(s, () => Buffer.concat(Array(2000).fill(frame(4, 0, 0)))),
  'ping-flood': (s) => { s.write(frame(4, 0, 0)); forever(s, () => Buffer.concat(Array(1000).fill(frame(6, 0, 0, Buffer.alloc(8))))); },
  'reset-flood': (s) => { s.write(frame(4, 0, 0)); forever(s, () => Buffer.concat(Array(1000).fill(frame(3, 0, 1, Buffer.alloc(4))))); },
  'goaway-flood': (s) => { s.write(frame(4, 0, 0)); forever(s, () => Buffer.concat(Array(1000).fill(frame(7, 0, 0, Buffer.alloc(8))))); },
  'window-flood': (s) => { s.write(frame(4, 0, 0)); forever(s, () => Buffer.concat(Array(1000).fill(frame(8, 0, 0, Buffer.from([0, 0, 0, 1]))))); },
  'continuation-flood': (s) => { s.write(Buffer.concat([frame(4, 0, 0), frame(1, 0, 1, Buffer.from([0x88]))])); forever(s, () => Buffer.concat(Array(100).fill(frame(9, 0, 1, Buffer.alloc(1000, 0x82))))); },
  'header-bomb': (s) => s.write(Buffer.concat([frame(4, 0, 0), frame(1, 4, 1, Buffer.concat([Buffer.from([0x88]), Buffer.alloc(16000, 0xbe)]))])),
  'huge-frame': (s) => { s.write(frame(4, 0, 0)); s.write(Buffer.from([255, 255, 255, 0, 0, 0, 0, 0, 1])); forever(s, () => Buffer.alloc(65536)); },
  'endless-message': (s) => { s.write(Buffer.concat([frame(4, 0, 0), frame(1, 4, 1, Buffer.from([0x88])), frame(0, 0, 1, Buffer.from([0, 255, 255, 255, 255]))])); forever(s, () => frame(0, 0, 1, Buffer.alloc(16000))); },
  'empty-data-flood': (s) => { s.write(Buffer.concat([frame(4, 0, 0), frame(1, 4, 1, Buffer.from([0x88]))])); forever(s, () => Buffer.concat(Array(2000).fill(frame(0, 0, 1)))); },
  'settings-churn': (s) => forever(s, () => Buffer.concat(Array(500).fill(frame(4, 0, 0, Buffer.from([0, 1, 0, 0, 16, 0, 0, 4, 127, 255, 255, 255]))))),
  'garbage': (s) => forever(s, () => require('crypto').randomBytes(65536)),
  'http1': (s) => s.end('HTTP/1.1 200 OK\\r\\nContent-Length: 2\\r\\n\\r\\nok'),
  'reset': (s) => s.resetAndDestroy(),
  'never': () => undefined,
`;

export const hostileServer = `
const net = require('net');
const forever = (socket, make) => {
  let n = 0;
  const pump = () => { while (!socket.destroyed && socket.write(make(n++))); };
  socket.on('drain', pump);
  pump();
};
const frame = (type, flags, stream, body = Buffer.alloc(0)) => {
  const head = Buffer.alloc(9);
  head.writeUIntBE(body.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, body]);
};
const httpWays = {${httpWays}};
const grpcWays = {${grpcWays}};
const serve = (port, ways, pattern) => {
  let turn = 0;
  net.createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', (data) => {
      socket.on('data', () => undefined);
      const named = pattern.exec(data.toString('latin1'))?.[1];
      const name = ways[named] ? named : Object.keys(ways)[turn++ % Object.keys(ways).length];
      console.log(port, name);
      ways[name](socket);
    });
  }).listen(port);
};
serve(8000, httpWays, /^GET \\/(\\S+) /);
serve(9000, grpcWays, /^$/);
process.on('SIGTERM', () => process.exit(0));
`;

const namesIn = (ways: string): readonly string[] =>
  [...ways.matchAll(/^ {2}'([a-z0-9-]+)'/gm)].map(([, name = '']) => name);
export const httpWayNames = namesIn(httpWays);
export const grpcWayNames = namesIn(grpcWays);
