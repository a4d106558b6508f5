// The messages of the Pods API around pods that are serialized already. Field numbers: proto/pods/v1alpha1/api.proto.
import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import { EventType } from '../api/kubelet/generated/pods/v1alpha1/api.ts';
import { EncodedMessage } from '../api/kubelet/rpc-service.ts';

/** ListPodsResponse; with a single pod also GetPodResponse. */
export function podsMessage(pods: readonly Uint8Array[]): EncodedMessage {
  return new EncodedMessage(pods.flatMap((pod) => [lengthOf(new BinaryWriter(), 1, pod), pod]));
}

export type WatchEventName = 'ADDED' | 'MODIFIED' | 'DELETED';

/** WatchPodsEvent. */
export function watchEvent(type: WatchEventName, pod: Uint8Array): EncodedMessage {
  const writer = new BinaryWriter().tag(1, WireType.Varint).int32(EventType[type]);
  return new EncodedMessage([lengthOf(writer, 2, pod), pod]);
}

export const initialSyncComplete = new EncodedMessage([
  new BinaryWriter().tag(1, WireType.Varint).int32(EventType.INITIAL_SYNC_COMPLETE).finish(),
]);

function lengthOf(writer: BinaryWriter, field: number, { length }: Uint8Array): Uint8Array {
  return writer.tag(field, WireType.LengthDelimited).uint32(length).finish();
}
