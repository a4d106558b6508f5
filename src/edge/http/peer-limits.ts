// How much of a port its clients may use before they are admitted: connections, TLS handshakes, requests, memory. On a port
// without authentication no client is ever admitted. Upstream has no such limits.
// Owns no socket but those that wait for their turn, and ends those that it drops. Invariants: a client that is not admitted
// never holds more than its peer's share, nor all of them together more than theirs; an admitted client is not limited by what
// the others do, and neither is a new connection of an address from which a client was admitted lately; among the rest the
// peer with the most connections gives way first, and of its connections the oldest idle one.
import type { Socket } from 'node:net';
import { LRUCache } from 'lru-cache';
import type { HttpLimits } from './http-limits.ts';
import { peerOf } from './peer-address.ts';

interface Peer {
  /** Not admitted ones, the oldest first. */
  readonly clients: Set<PeerClient>;
  readonly handshakes: Rate;
  readonly requests: Rate;
  /** When one of its connections last began its handshake. */
  startedMs: number;
  /** A client from there was admitted; until then its connections have their own share. */
  knownUntilMs: number;
  requestsInFlight: number;
}

/** One connection, from its acceptance to its end. */
export interface PeerClient {
  readonly socket: Socket;
  readonly peer: Peer;
  readonly openedMs: number;
  /** Whether it is one of the connections that peers who are not known have together. */
  shared: boolean;
  admitted: boolean;
  /** Called when it is admitted, to lift limits that are kept elsewhere. */
  onAdmitted: (() => void) | undefined;
  requestsInFlight: number;
  idleSinceMs: number;
  /** While it waits for its handshake. */
  start: (() => void) | undefined;
}

export type Refusal = 'peer-requests' | 'requests' | 'in-flight' | 'memory';

/** How long an address stays known after its last admitted request. */
const knownMs = 3_600_000;
/** Peers that have no connection now, kept for their rates. */
const mostGonePeers = 2_048;
/** A younger connection of an address that is not known is not dropped for another one of the same address. */
const youngMs = 1_000;
const pumpMs = 20;
const sweepMs = 500;

export class PeerLimits {
  readonly #limits: HttpLimits;
  readonly #peers = new Map<string, Peer>();
  readonly #gone = new LRUCache<string, Peer>({ max: mostGonePeers });
  readonly #clients = new Map<string, PeerClient>();
  readonly #waiting = new Set<PeerClient>();
  readonly #handshakes: Rate;
  readonly #knownHandshakes: Rate;
  readonly #requests: Rate;
  #unknownConnections = 0;
  #unknownRequests = 0;
  #admittedRequests = 0;
  #heldBytes = 0;
  #pumpTimer: NodeJS.Timeout | undefined;
  #sweepTimer: NodeJS.Timeout | undefined;

  constructor(limits: HttpLimits) {
    this.#limits = limits;
    this.#handshakes = new Rate(limits.handshakesPerSecond, limits.handshakesAtOnce);
    this.#knownHandshakes = new Rate(limits.knownHandshakesPerSecond, limits.handshakesAtOnce);
    this.#requests = new Rate(limits.unknownRequestsPerSecond);
  }

  /**
   * A client has connected. `start` begins to read from it, at once or later; a client for which there is no room is cut off.
   * `handshake`: beginning costs a TLS handshake, which is rationed.
   */
  enter(socket: Socket, handshake: boolean, start: () => void): void {
    const key = addressKey(socket);
    const name = peerOf(socket.remoteAddress);
    const peer = this.#peers.get(name) ?? this.#gone.get(name) ?? this.#newPeer();
    if (!this.#hasRoom(peer)) {
      socket.destroy();
      return;
    }
    this.#gone.delete(name);
    this.#peers.set(name, peer);
    const nowMs = performance.now();
    const client: PeerClient = {
      socket,
      peer,
      openedMs: nowMs,
      shared: false,
      admitted: false,
      onAdmitted: undefined,
      requestsInFlight: 0,
      idleSinceMs: nowMs,
      start,
    };
    this.#clients.set(key, client);
    this.#count(client, 1);
    socket.once('close', () => this.#leave(key, name, client));
    socket.on('error', () => socket.destroy());
    this.#sweepTimer ??= setInterval(() => this.#sweep(), sweepMs).unref();
    if (!handshake || this.#mayStart(client)) this.#start(client);
    else this.#wait(client);
  }

  /** Of a connection, be it plain or what TLS has made of it. */
  clientOf(socket: Pick<Socket, 'remoteAddress' | 'remotePort'>): PeerClient | undefined {
    return this.#clients.get(addressKey(socket));
  }

  /** The client has proved who it is and may do what it asks: the limits of strangers are over for it. */
  admit(client: PeerClient): void {
    client.peer.knownUntilMs = performance.now() + knownMs;
    if (client.admitted) return;
    this.#count(client, -1);
    client.peer.requestsInFlight -= client.requestsInFlight;
    this.#unknownRequests -= client.requestsInFlight;
    this.#admittedRequests += client.requestsInFlight;
    client.admitted = true;
    client.onAdmitted?.();
  }

  /** A request begins; a refusal says why it may not. */
  beginRequest(client: PeerClient): Refusal | undefined {
    const limits = this.#limits;
    const { peer } = client;
    if (client.admitted) {
      if (this.#admittedRequests >= limits.requestsInFlight) return 'in-flight';
      this.#admittedRequests++;
    } else {
      if (!peer.requests.tryTake()) return 'peer-requests';
      if (!this.#requests.tryTake()) return 'requests';
      if (this.#heldBytes >= limits.unknownHeldBytes) return 'memory';
      const isFull =
        peer.requestsInFlight >= limits.unknownRequestsInFlightPerPeer ||
        this.#unknownRequests >= limits.unknownRequestsInFlight;
      if (isFull) return 'in-flight';
      peer.requestsInFlight++;
      this.#unknownRequests++;
    }
    client.requestsInFlight++;
    return undefined;
  }

  /** To be called once for each request that began. */
  endRequest(client: PeerClient): void {
    client.requestsInFlight--;
    client.idleSinceMs = performance.now();
    if (client.admitted) this.#admittedRequests--;
    else {
      client.peer.requestsInFlight--;
      this.#unknownRequests--;
    }
  }

  /** Bytes of an answer that a client has yet to read; returns what gives them back. */
  holdBytes(client: PeerClient, bytes: number): () => void {
    if (client.admitted) return () => undefined;
    this.#heldBytes += bytes;
    return () => {
      this.#heldBytes -= bytes;
    };
  }

  /** Cuts off who waits. */
  close(): void {
    clearTimeout(this.#pumpTimer);
    clearInterval(this.#sweepTimer);
    this.#pumpTimer = undefined;
    this.#sweepTimer = undefined;
    for (const { socket } of this.#waiting) socket.destroy();
  }

  #newPeer(): Peer {
    return {
      clients: new Set(),
      handshakes: new Rate(this.#limits.handshakesPerPeerPerSecond),
      requests: new Rate(this.#limits.unknownRequestsPerPeerPerSecond),
      startedMs: 0,
      knownUntilMs: 0,
      requestsInFlight: 0,
    };
  }

  /** Makes room, if need be by dropping another connection. */
  #hasRoom(peer: Peer): boolean {
    const limits = this.#limits;
    const known = isKnown(peer);
    const most = known ? limits.knownPeerConnections : limits.unknownConnectionsPerPeer;
    // A known address may be that of the API server and of a flood at once, so its new connections always get in.
    if (peer.clients.size >= most) return this.#drop(peer, known ? 0 : youngMs);
    if (known || this.#unknownConnections < limits.unknownConnections) return true;
    let largest = peer;
    for (const each of this.#peers.values())
      if (!isKnown(each) && each.clients.size > largest.clients.size) largest = each;
    return this.#drop(largest, largest === peer ? youngMs : 0);
  }

  /** The peer's oldest idle connection, unless all are younger than that. */
  #drop(peer: Peer, youngestMs: number): boolean {
    const before = performance.now() - youngestMs;
    for (const client of peer.clients) {
      if (client.openedMs > before) return false;
      if (client.requestsInFlight > 0) continue;
      client.socket.destroy();
      // Its close comes later; its room is free now.
      this.#count(client, -1);
      return true;
    }
    return false;
  }

  /** Takes it in among those that are not admitted (1), or out (-1). Again: without effect. */
  #count(client: PeerClient, by: 1 | -1): void {
    const { clients } = client.peer;
    if (clients.has(client) === (by === 1)) return;
    if (by === 1) {
      clients.add(client);
      client.shared = !isKnown(client.peer);
    } else clients.delete(client);
    // An address may have become known in between.
    if (client.shared) this.#unknownConnections += by;
  }

  #leave(key: string, name: string, client: PeerClient): void {
    this.#count(client, -1);
    this.#waiting.delete(client);
    if (this.#clients.get(key) === client) this.#clients.delete(key);
    if (client.peer.clients.size === 0 && this.#peers.get(name) === client.peer) {
      this.#peers.delete(name);
      this.#gone.set(name, client.peer);
    }
    if (this.#clients.size > 0) return;
    clearInterval(this.#sweepTimer);
    this.#sweepTimer = undefined;
  }

  #mayStart({ peer }: PeerClient): boolean {
    if (isKnown(peer)) return this.#knownHandshakes.tryTake();
    if (!this.#handshakes.has() || !peer.handshakes.tryTake()) return false;
    return this.#handshakes.tryTake();
  }

  #start(client: PeerClient): void {
    const { start } = client;
    client.start = undefined;
    client.peer.startedMs = performance.now();
    this.#waiting.delete(client);
    start?.();
  }

  #wait(client: PeerClient): void {
    this.#waiting.add(client);
    this.#pumpTimer ??= setTimeout(() => this.#pump(), pumpMs);
  }

  /**
   * Lets clients begin while there are handshakes left: those of known peers first, then of the peer that waits longest. Of known
   * peers the newest first: under a flood an older one is dropped before its turn would come.
   */
  #pump(): void {
    this.#pumpTimer = undefined;
    const known = [...this.#waiting].filter(({ peer }) => isKnown(peer));
    for (const client of known.reverse()) {
      if (!this.#mayStart(client)) break;
      this.#start(client);
    }
    for (let next = this.#next(); next !== undefined; next = this.#next()) {
      if (!this.#mayStart(next)) break;
      this.#start(next);
    }
    if (this.#waiting.size > 0) this.#pumpTimer ??= setTimeout(() => this.#pump(), pumpMs);
  }

  #next(): PeerClient | undefined {
    let next: PeerClient | undefined;
    for (const client of this.#waiting) {
      const { peer } = client;
      if (isKnown(peer) || !peer.handshakes.has()) continue;
      // Of peers that have never started, the newest: a socket that waits is not read, so the clients of the oldest may have gone.
      const isNewer = peer !== next?.peer && peer.startedMs === next?.peer.startedMs;
      if (next === undefined || peer.startedMs < next.peer.startedMs || isNewer) next = client;
    }
    return next;
  }

  /** Ends connections that are not admitted and have been idle for too long, or have sent too much. */
  #sweep(): void {
    const { unknownBytes, unknownIdleMs } = this.#limits;
    const nowMs = performance.now();
    for (const { admitted, idleSinceMs, requestsInFlight, socket } of this.#clients.values()) {
      if (admitted) continue;
      const idle = requestsInFlight === 0 && nowMs - idleSinceMs >= unknownIdleMs;
      if (idle || socket.bytesRead > unknownBytes) socket.destroy();
    }
  }
}

function isKnown(peer: Peer): boolean {
  return peer.knownUntilMs > performance.now();
}

function addressKey({ remoteAddress, remotePort }: Pick<Socket, 'remoteAddress' | 'remotePort'>): string {
  return `${remoteAddress} ${remotePort}`;
}

/** A token bucket that can be looked into, with a burst of two seconds' tokens unless set. */
class Rate {
  readonly #perSecond: number;
  readonly #burst: number;
  #tokens: number;
  #filledMs = performance.now();

  constructor(perSecond: number, burst = perSecond * 2) {
    this.#perSecond = perSecond;
    this.#burst = burst;
    this.#tokens = burst;
  }

  has(): boolean {
    const nowMs = performance.now();
    const more = ((nowMs - this.#filledMs) / 1000) * this.#perSecond;
    this.#tokens = Math.min(this.#burst, this.#tokens + more);
    this.#filledMs = nowMs;
    return this.#tokens >= 1;
  }

  tryTake(): boolean {
    if (!this.has()) return false;
    this.#tokens--;
    return true;
  }
}
