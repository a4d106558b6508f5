import { beforeEach, describe, expect, test } from 'vitest';
import type { Node } from '../../api/k8s/types.ts';
import { Channel } from '../../base/channel.ts';
import { NodeAttachments } from './node-attachments.ts';

const a = 'kubernetes.io/csi/d^a';
describe('NodeAttachments', () => {
  let watched: Node | undefined;
  let attachments: NodeAttachments;
  const changed = new Channel<void>();

  beforeEach(() => {
    watched = undefined;
    attachments = new NodeAttachments({ ownNode: { get: () => watched, changed }, byController: true });
  });

  function node(version: number, attached: readonly string[]): Node {
    const volumesAttached = attached.map((name) => ({ name, devicePath: `/dev/${name.at(-1)}` }));
    return { metadata: { uid: 'n', resourceVersion: `${version}` }, status: { volumesAttached } };
  }

  test('a volume is attached when the status reported it in use and the controller attached it', () => {
    watched = node(1, [a]);
    expect(attachments.devicePath(a)).toBeUndefined();
    expect(attachments.missing(a)).toBe('the node status to report it in use');
    attachments.reported([a], node(2, []));
    expect(attachments.devicePath(a)).toBeUndefined();
    expect(attachments.missing(a)).toBe('the attach/detach controller to attach it to this node');
    watched = node(3, [a]);
    expect(attachments.devicePath(a)).toBe('/dev/a');
  });

  test('an attachment that the watch still shows does not count if the written node no longer has it', () => {
    watched = node(1, [a]);
    attachments.reported([a], node(5, []));
    expect(attachments.devicePath(a)).toBeUndefined();
  });

  test('a volume that the next status omits is detached from the moment that status is assembled', () => {
    watched = node(2, [a]);
    attachments.reported([a], node(1, []));
    attachments.aboutToReport([]);
    // Wanted again before that status was written.
    expect(attachments.devicePath(a)).toBeUndefined();
    attachments.reported([], node(3, [a]));
    attachments.aboutToReport([a]);
    expect(attachments.devicePath(a)).toBeUndefined();
    attachments.reported([a], node(4, [a]));
    expect(attachments.devicePath(a)).toBe('/dev/a');
  });

  test('announces writes and changes of the node', () => {
    let count = 0;
    attachments.changed.subscribe(() => (count += 1));
    changed.push();
    attachments.reported([], node(1, []));
    expect(count).toBe(2);
  });
});
