// The page's state and how each message of the stream changes it. Pure but for the history of samples, which it fills.
// Invariant: a message carries a level, so a new connection replaces everything, and a new kubelet process leaves nothing of
// the earlier one.
import type { PodUid } from '../../src/api/pod/pod-ref.ts';
import type {
  Hello,
  KubeletHealth,
  NodeView,
  PodDetail,
  PodRow,
  PodsChange,
  StreamEvents,
} from '../../src/api/ports/node-page.ts';
import type { UsageHistory } from './usage-history.ts';

export type Connection =
  | { readonly kind: 'connecting' }
  | { readonly kind: 'connected' }
  | { readonly kind: 'reconnecting'; readonly why: string }
  | { readonly kind: 'unauthorized'; readonly status: number };

export interface Access {
  readonly logs: boolean;
  readonly exec: boolean;
}

export interface PageState {
  readonly connection: Connection;
  readonly hello: Hello | undefined;
  /** The kubelet's wall clock less the browser's. */
  readonly clockOffsetMs: number;
  /** By the browser's clock: when the last message came. */
  readonly heardMs: number | undefined;
  readonly node: NodeView | undefined;
  /** Undefined until the first list came. */
  readonly pods: ReadonlyMap<PodUid, PodRow> | undefined;
  /** Of the pod in view; `gone` with the last detail once it was removed. */
  readonly detail:
    | { readonly uid: PodUid; readonly last: PodDetail | undefined; readonly gone: boolean }
    | undefined;
  readonly health: KubeletHealth | undefined;
  readonly access: Access;
}

export const initialState: PageState = {
  connection: { kind: 'connecting' },
  hello: undefined,
  clockOffsetMs: 0,
  heardMs: undefined,
  node: undefined,
  pods: undefined,
  detail: undefined,
  health: undefined,
  access: { logs: false, exec: false },
};

export type StreamMessage = {
  [Name in keyof StreamEvents]: { readonly name: Name; readonly data: StreamEvents[Name] };
}[keyof StreamEvents];

export const messageNames: readonly StreamMessage['name'][] = [
  'hello',
  'node',
  'pods',
  'samples',
  'usage',
  'pod',
  'health',
  'bye',
];

interface Reduction {
  readonly history: UsageHistory;
  readonly nowMs: number;
  /** The pod that the connection was opened for. */
  readonly pod: PodUid | undefined;
}

export function reduce(
  state: PageState,
  message: StreamMessage,
  { history, nowMs, pod }: Reduction,
): PageState {
  const heard = { ...state, heardMs: nowMs };
  switch (message.name) {
    case 'hello':
      return greeted(heard, message.data, history, nowMs);
    case 'node':
      return { ...heard, node: message.data };
    case 'pods':
      return { ...heard, pods: changedPods(state.pods, message.data) };
    case 'samples':
      history.continueWith(message.data);
      return heard;
    case 'usage':
      history.push(message.data);
      return heard;
    case 'pod':
      return pod === undefined ? heard : { ...heard, detail: changedDetail(state.detail, pod, message.data) };
    case 'health':
      return { ...heard, health: message.data };
    case 'bye':
      return heard;
  }
}

function greeted(state: PageState, hello: Hello, history: UsageHistory, nowMs: number): PageState {
  const isSame = state.hello?.instance === hello.instance;
  const known = { ...state, hello, clockOffsetMs: hello.nowMs - nowMs };
  // A greeting may repeat within a process, when access changes; then the answer of api/access may be better.
  if (isSame) return known;
  history.reset([]);
  return { ...known, access: hello.may, health: undefined };
}

function changedPods(
  pods: ReadonlyMap<PodUid, PodRow> | undefined,
  { all, gone, rows }: PodsChange,
): ReadonlyMap<PodUid, PodRow> {
  const next = new Map(all ? [] : pods);
  for (const row of rows) next.set(row.uid, row);
  for (const uid of gone) next.delete(uid);
  return next;
}

function changedDetail(
  detail: PageState['detail'],
  uid: PodUid,
  data: PodDetail | null,
): PageState['detail'] {
  if (data !== null) return { uid, last: data, gone: false };
  return { uid, last: detail?.uid === uid ? detail.last : undefined, gone: true };
}

/** A pod by name; of several (one terminating, one new) the newest. */
export function findPod(
  pods: PageState['pods'],
  pod: { readonly namespace: string; readonly name: string },
): PodRow | undefined {
  let found: PodRow | undefined;
  for (const row of pods?.values() ?? []) {
    if (row.name !== pod.name || row.namespace !== pod.namespace) continue;
    if (found === undefined || (row.createdMs ?? 0) >= (found.createdMs ?? 0)) found = row;
  }
  return found;
}
