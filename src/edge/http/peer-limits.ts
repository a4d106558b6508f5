// Limits what clients may use of a port before they are admitted: connections, TLS handshakes, requests, memory. On a port
// without authentication no client is ever admitted. Upstream has no such limits.
// Owns only sockets that wait for their handshake, and closes those that it drops. Invariants: a client that is not admitted
// never uses more than its peer's share, nor all of them together more than theirs; an admitted client is not limited by the
// others, and neither is a new connection from an address from which a client was admitted recently; among the rest, the peer
// with the most connections loses one first, its oldest idle one.
import type { Socket } from 'node:net';
import { LRUCache } from 'lru-cache';
import type { HttpLimits } from './http-limits.ts';
import { peerOf } from './peer-address.ts';

interface Peer {
  /** Clients that are not admitted, oldest first. */
  readonly clients: Set<PeerClient>;
  readonly handshakes: Rate;
  readonly requests: Rate;
  /** When one of its connections last started a handshake. */
  startedMs: number;
  /** Until when the address is known because a client was admitted from it; its connections have their own share. */
  knownUntilMs: number;
  requestsInFlight: number;
}

/** One connection, from accept to close. */
export interface PeerClient {
  readonly socket: Socket;
  readonly peer: Peer;
  readonly openedMs: number;
  /** Whether it counts towards the connections of all unknown peers. */
  shared: boolean;
  admitted: boolean;
  /** Called on admission, to lift the limits of the HTTP/2 session. */
  onAdmitted: (() => void) | undefined;
  requestsInFlight: number;
  idleSinceMs: number;
  /** Set while it waits for its handshake. */
  start: (() => void) | undefined;
}

export type Refusal = 'peer-requests' | 'requests' | 'in-flight' | 'memory';

/** How long an address stays known after its last admitted request. */
const knownMs = 3_600_000;
/** Peers without a connection, kept for their rate limits. */
const maxDisconnectedPeers = 2_048;
/** A younger connection of an unknown address is not dropped for another one of the same address. */
const youngMs = 1_000;
const pumpMs = 20;
const sweepMs = 500;

export class PeerLimits {
  readonly #limits: HttpLimits;
  readonly #peers = new Map<string, Peer>();
  readonly #disconnected = new LRUCache<string, Peer>({ max: maxDisconnectedPeers });
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
   * Accepts a connection. `start` is called to begin reading from it, at once or later; a client above the limits is
   * disconnected. `handshake`: starting costs a TLS handshake, which is rate-limited.
   */
  enter(socket: Socket, handshake: boolean, start: () => void): void {
    const key = addressKey(socket);
    const name = peerOf(socket.remoteAddress);
    const peer = this.#peers.get(name) ?? this.#disconnected.get(name) ?? this.#newPeer();
    if (!this.#hasRoom(peer)) {
      socket.destroy();
      return;
    }
    this.#disconnected.delete(name);
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
    socket.once('close', () => this.#remove(key, name, client));
    socket.on('error', () => socket.destroy());
    this.#sweepTimer ??= setInterval(() => this.#sweep(), sweepMs).unref();
    if (!handshake || this.#mayStart(client)) this.#start(client);
    else this.#wait(client);
  }

  /** The client of a connection, plain or TLS. */
  clientOf(socket: Pick<Socket, 'remoteAddress' | 'remotePort'>): PeerClient | undefined {
    return this.#clients.get(addressKey(socket));
  }

  /** The client is authenticated and authorized: lifts the limits of unknown clients for it. */
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

  /** Starts a request; returns which limit it exceeds, if any. */
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

  /** Call once for each started request. */
  endRequest(client: PeerClient): void {
    client.requestsInFlight--;
    client.idleSinceMs = performance.now();
    if (client.admitted) this.#admittedRequests--;
    else {
      client.peer.requestsInFlight--;
      this.#unknownRequests--;
    }
  }

  /** Counts bytes of a response that the client has not read yet; returns the function that releases them. */
  holdBytes(client: PeerClient, bytes: number): () => void {
    if (client.admitted) return () => undefined;
    this.#heldBytes += bytes;
    return () => {
      this.#heldBytes -= bytes;
    };
  }

  /** Disconnects clients that wait for their handshake. */
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

  /** Whether the peer may connect, if needed after dropping another connection. */
  #hasRoom(peer: Peer): boolean {
    const limits = this.#limits;
    const known = isKnown(peer);
    const maxConnections = known ? limits.knownPeerConnections : limits.unknownConnectionsPerPeer;
    // A known address may be that of the API server and of a flood at once, so its new connections are always accepted.
    if (peer.clients.size >= maxConnections) return this.#drop(peer, known ? 0 : youngMs);
    if (known || this.#unknownConnections < limits.unknownConnections) return true;
    let largest = peer;
    for (const each of this.#peers.values())
      if (!isKnown(each) && each.clients.size > largest.clients.size) largest = each;
    return this.#drop(largest, largest === peer ? youngMs : 0);
  }

  /** Drops the peer's oldest idle connection, unless all are younger than `youngestMs`. */
  #drop(peer: Peer, youngestMs: number): boolean {
    const before = performance.now() - youngestMs;
    for (const client of peer.clients) {
      if (client.openedMs > before) return false;
      if (client.requestsInFlight > 0) continue;
      client.socket.destroy();
      // It closes later, but no longer counts now.
      this.#count(client, -1);
      return true;
    }
    return false;
  }

  /** Adds the client to those that are not admitted (1) or removes it (-1). Idempotent. */
  #count(client: PeerClient, by: 1 | -1): void {
    const { clients } = client.peer;
    if (clients.has(client) === (by === 1)) return;
    if (by === 1) {
      clients.add(client);
      client.shared = !isKnown(client.peer);
    } else clients.delete(client);
    // The address may have become known in between.
    if (client.shared) this.#unknownConnections += by;
  }

  #remove(key: string, name: string, client: PeerClient): void {
    this.#count(client, -1);
    this.#waiting.delete(client);
    if (this.#clients.get(key) === client) this.#clients.delete(key);
    if (client.peer.clients.size === 0 && this.#peers.get(name) === client.peer) {
      this.#peers.delete(name);
      this.#disconnected.set(name, client.peer);
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
   * Starts waiting clients while handshakes are available: those of known peers first, then of the peer that waits longest. Of
   * known peers the newest first: under a flood, an older one is dropped before its turn.
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
      // Of peers that never started, the newest: a waiting socket is not read, so the oldest clients may have disconnected.
      const isNewer = peer !== next?.peer && peer.startedMs === next?.peer.startedMs;
      if (next === undefined || peer.startedMs < next.peer.startedMs || isNewer) next = client;
    }
    return next;
  }

  /** Closes connections that are not admitted and have been idle for too long or have sent too much. */
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

/** A token bucket that can be checked without taking, with a burst of two seconds' tokens by default. */
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
