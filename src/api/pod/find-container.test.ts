import { expect, test } from 'vitest';
import { aContainer, aPod } from '../../../test/builders/builders.ts';
import {
  allContainers,
  containerType,
  findContainer,
  initAndRegularContainers,
  longRunningContainers,
  targetContainerName,
} from './find-container.ts';

const pod = aPod({
  initContainers: [aContainer({ name: 'i' }), aContainer({ name: 's', restartPolicy: 'Always' })],
  ephemeralContainers: [{ ...aContainer({ name: 'e' }), targetContainerName: 'c' }],
});

const namesOf = (containers: readonly { readonly name: string }[]): readonly string[] =>
  containers.map(({ name }) => name);

test('lists containers by type, init containers first', () => {
  expect(namesOf(allContainers(pod))).toEqual(['i', 's', 'c', 'e']);
  expect(namesOf(initAndRegularContainers(pod))).toEqual(['i', 's', 'c']);
  expect(namesOf(longRunningContainers(pod))).toEqual(['s', 'c']);
  expect([allContainers({}), longRunningContainers({})]).toEqual([[], []]);
});

test('finds a container of any type', () => {
  const found = ['i', 'c', 'e', 'x'].map((name) => findContainer(pod, name)?.name);
  expect(found).toEqual(['i', 'c', 'e', undefined]);
  expect(findContainer(undefined, 'c')).toBeUndefined();
});

test('only an ephemeral container has a target', () =>
  expect(['c', 'e', 'x'].map((name) => targetContainerName(pod, name))).toEqual([undefined, 'c', undefined]));

test('the type of a container is that of its list', () => {
  expect(['i', 'c', 'e'].map((name) => containerType(pod, name))).toEqual([
    'init_container',
    'container',
    'ephemeral_container',
  ]);
});
