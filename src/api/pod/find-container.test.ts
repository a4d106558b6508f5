import { expect, test } from 'vitest';
import { aContainer, aPod } from '../../../test/builders/builders.ts';
import { allContainers, containerType, findContainer } from './find-container.ts';

const pod = aPod({
  initContainers: [aContainer({ name: 'i' })],
  ephemeralContainers: [{ ...aContainer({ name: 'e' }), targetContainerName: 'c' }],
});

test('a container is found in whatever list it is', () => {
  expect(allContainers(pod).map(({ name }) => name)).toEqual(['i', 'c', 'e']);
  const found = ['i', 'c', 'e', 'x'].map((name) => findContainer(pod, name)?.container.name);
  expect(found).toEqual(['i', 'c', 'e', undefined]);
  expect(['c', 'e'].map((name) => findContainer(pod, name)?.targetName)).toEqual([undefined, 'c']);
});

test('its kind is that of the list', () => {
  expect(['i', 'c', 'e'].map((name) => containerType(pod, name))).toEqual([
    'init_container',
    'container',
    'ephemeral_container',
  ]);
});
