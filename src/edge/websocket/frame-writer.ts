// Encodes the frames of a WebSocket server: unmasked and never fragmented. Pure. Reference: RFC 6455, section 5.
import { opcodes } from './frame-reader.ts';

/** The header of a message of `length` bytes that follow. */
export function messageHeader(length: number): Buffer {
  return frameHeader(opcodes.binary, length);
}

export function pongFrame(payload: Buffer): Buffer {
  return Buffer.concat([frameHeader(opcodes.pong, payload.length), payload]);
}

export function pingFrame(): Buffer {
  return frameHeader(opcodes.ping, 0);
}

/** Without a code the frame is empty. */
export function closeFrame(code: number | undefined): Buffer {
  if (code === undefined) return frameHeader(opcodes.close, 0);
  const frame = Buffer.alloc(4);
  frameHeader(opcodes.close, 2).copy(frame);
  frame.writeUInt16BE(code, 2);
  return frame;
}

function frameHeader(opcode: number, length: number): Buffer {
  const first = 0x80 | opcode;
  if (length < 126) return Buffer.from([first, length]);
  if (length <= 0xffff) return Buffer.from([first, 126, length >> 8, length & 0xff]);
  const header = Buffer.alloc(10);
  header.set([first, 127]);
  header.writeBigUInt64BE(BigInt(length), 2);
  return header;
}
