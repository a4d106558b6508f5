// Kubelet restarts cause no status write and no readiness transition.
import { expect, onTestFinished, test } from 'vitest';
import type { Container, Probe } from '../../../src/api/k8s/types.ts';
import { aContainer, aPod } from '../../builders/builders.ts';
import { ClusterWorld } from '../../simulate/cluster-world.ts';

const cat: Probe = { exec: { command: ['cat', '/tmp/ok'] }, periodSeconds: 1 };
const patient: Probe = { ...cat, failureThreshold: 10_000 };
const pods: Readonly<Record<string, readonly [string, Partial<Container>, string]>> = {
  ready: [
    'touch /tmp/ok; sleep 100000',
    { startupProbe: cat, readinessProbe: cat, livenessProbe: cat },
    'True',
  ],
  unready: ['sleep 100000', { readinessProbe: cat }, 'False'],
  starting: ['sleep 100000', { startupProbe: patient, readinessProbe: cat }, 'False'],
};
const names = Object.keys(pods).flatMap((name) => [name, `sidecar-${name}`]);

function loseStateDirectory({ node }: ClusterWorld): void {
  node.probeResultFile = undefined;
  node.stateFiles.clear();
  node.records.clear();
  node.files.clear();
}

for (const how of ['kill', 'stop'] as const) {
  for (const memory of ['kept', 'lost'] as const) {
    test(`ten restarts (${how}, file ${memory}): no status write and no change of transition times`, async () => {
      const world = new ClusterWorld();
      onTestFinished(() => world.close());
      await world.node.start();
      for (const [name, [command, probes]] of Object.entries(pods)) {
        const probed = aContainer({ command: ['sh', '-c', command], ...probes });
        world.run(name, { containers: [probed] });
        world.run(`sidecar-${name}`, {
          initContainers: [{ ...probed, name: 'sidecar', restartPolicy: 'Always' }],
          containers: [aContainer()],
        });
      }
      await world.advance(15_000);
      expect(names.map((name) => world.ready(name))).toEqual(
        Object.values(pods).flatMap(([, , want]) => [want, want]),
      );
      const before = names.map((name) => world.pod(name)?.status);
      const written = (): readonly number[] =>
        names.map((name) => world.requestCount(`patch pods/status default/${name}`));
      const patches = written();
      for (let run = 0; run < 10; run++) {
        await world.node[how]();
        // Without the files, the status on the API server of the same container is used.
        if (memory === 'lost') loseStateDirectory(world);
        await world.node.start();
        await world.advance(500 + run * 310);
      }
      await world.advance(5_000);
      expect(names.map((name) => world.pod(name)?.status)).toEqual(before);
      expect(written()).toEqual(patches);
    });
  }
}

for (const how of ['kill', 'stop'] as const) {
  test(`ten take-overs of a static pod without the file (${how}): no status write and no change of transition times`, async () => {
    const world = new ClusterWorld();
    onTestFinished(() => world.close());
    await world.node.start();
    for (const [name, [command, probes]] of Object.entries(pods)) {
      const { uid: _, ...metadata } = aPod({ name }).metadata ?? {};
      const containers = [aContainer({ command: ['sh', '-c', command], ...probes })];
      world.node.write(`${name}.yaml`, { ...aPod({ name, containers }), metadata });
    }
    await world.advance(15_000);
    const mirrors = Object.keys(pods).map((name) => `${name}-n`);
    expect(mirrors.map((name) => world.ready(name))).toEqual(Object.values(pods).map(([, , want]) => want));
    const before = mirrors.map((name) => world.pod(name)?.status);
    const written = (): readonly number[] =>
      mirrors.map((name) => world.requestCount(`patch pods/status default/${name}`));
    const patches = written();
    for (let run = 0; run < 10; run++) {
      await world.node[how]();
      // A Go kubelet leaves no such file; the mirror pod has the status that it reported.
      world.node.probeResultFile = undefined;
      await world.node.start();
      await world.advance(500 + run * 310);
    }
    await world.advance(5_000);
    expect(mirrors.map((name) => world.pod(name)?.status)).toEqual(before);
    expect(written()).toEqual(patches);
  });
}
