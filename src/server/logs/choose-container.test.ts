import { expect, test } from 'vitest';
import type { ContainerStatus } from '../../api/k8s/types.ts';
import { chooseContainer } from './choose-container.ts';

const status = (over: Partial<ContainerStatus>): ContainerStatus => ({
  name: 'c',
  image: 'i',
  imageID: '',
  ready: false,
  restartCount: 0,
  ...over,
});
const ended = (containerID: string) => ({ terminated: { exitCode: 1, containerID } });
const waiting = (reason: string) => ({ state: { waiting: { reason } } });

const cases: readonly (readonly [
  name: string,
  over: Partial<ContainerStatus>,
  previous: boolean,
  want: string,
])[] = [
  ['runs', { state: { running: {} }, containerID: 'r://1' }, false, 'r://1'],
  ['ended', { state: ended('r://1') }, false, 'r://1'],
  [
    'could not start, the previous one exited',
    { state: ended(''), lastState: ended('r://0') },
    false,
    'r://0',
  ],
  ['could not start', { state: ended('') }, false, 'container "c" in pod "p" is terminated'],
  ['waiting for its restart', { ...waiting('CrashLoopBackOff'), lastState: ended('r://0') }, false, 'r://0'],
  [
    'waiting, the previous one never started',
    { ...waiting('CrashLoopBackOff'), lastState: ended('') },
    false,
    'container "c" in pod "p" is terminated',
  ],
  [
    'waiting for its creation',
    waiting('ContainerCreating'),
    false,
    'container "c" in pod "p" is waiting to start: ContainerCreating',
  ],
  [
    'pull failed',
    waiting('ErrImagePull'),
    false,
    'container "c" in pod "p" is waiting to start: image can\'t be pulled',
  ],
  [
    'pull backs off',
    waiting('ImagePullBackOff'),
    false,
    'container "c" in pod "p" is waiting to start: trying and failing to pull image',
  ],
  ['no state', { state: {} }, false, 'container "c" in pod "p" is waiting to start - no logs yet'],
  ['previous', { state: { running: {} }, lastState: ended('r://0'), containerID: 'r://1' }, true, 'r://0'],
  [
    'no previous',
    { state: { running: {} }, containerID: 'r://1' },
    true,
    'previous terminated container "c" in pod "p" not found',
  ],
  [
    'previous without a container',
    { state: { running: {} }, lastState: ended('') },
    true,
    'previous terminated container "c" in pod "p" not found',
  ],
];

for (const [name, over, previous, want] of cases) {
  test(`chooseContainer: ${name}`, () => {
    const chosen = chooseContainer('p', { containerStatuses: [status(over)] }, 'c', previous);
    expect('id' in chosen ? chosen.id : chosen.error).toBe(want);
  });
}

test('finds init and ephemeral containers; a container without status is not available', () => {
  const running = status({ name: 'x', state: { running: {} }, containerID: 'r://x' });
  const of = (key: string, name = 'x') => chooseContainer('p', { [key]: [running] }, name, false);
  expect(of('initContainerStatuses')).toEqual({ id: 'r://x' });
  expect(of('ephemeralContainerStatuses')).toEqual({ id: 'r://x' });
  expect(of('containerStatuses', 'y')).toEqual({ error: 'container "y" in pod "p" is not available' });
});
