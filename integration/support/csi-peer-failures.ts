// The pods with CSI volumes that run with both kubelets only after failures of the driver, and those that never run.
import { drivers } from './csi-peer-node.ts';
import { type CsiPeerPods, secretRef } from './csi-peer-pods.ts';

const affinity = {
  required: {
    nodeSelectorTerms: [
      { matchExpressions: [{ key: 'topology.example.com/zone', operator: 'In', values: ['far'] }] },
    ],
  },
};

/** Pods whose volumes are mounted, or removed, after errors of the driver. */
export async function recoverVolumes(pods: CsiPeerPods): Promise<void> {
  const files = ['stage-final', 'stage-open', 'stage-done', 'publish-final', 'publish-open', 'publish-done'];
  const raw = ['stage-final', 'stage-open', 'publish-final', 'publish-open'];
  for (const name of [...files, 'unpublish', 'unstage']) pods.claim(name);
  for (const name of [...raw, 'unpublish', 'unstage']) pods.claim(`block-${name}`, { volumeMode: 'Block' });
  const codes = { final: 'INTERNAL', open: 'ABORTED', done: 'UNAVAILABLE' } as const;
  const fault = (volume: string) => {
    const [, verb = '', kind = 'final'] = /^(?:block-)?(\w+)(?:-(\w+))?$/.exec(volume) ?? [];
    const method = `Node${verb.charAt(0).toUpperCase()}${verb.slice(1)}Volume`;
    const code = codes[kind as keyof typeof codes];
    const when = kind === 'done' ? ('after' as const) : ('before' as const);
    return { method, volume, code, when, message: `no ${verb} of ${volume}`, times: 2 };
  };
  const volumes = [
    ...files,
    'unpublish',
    'unstage',
    ...[...raw, 'unpublish', 'unstage'].map((name) => `block-${name}`),
  ];
  pods.driver(drivers.main).setFaults(...volumes.map(fault));
  for (const name of [...files, 'unpublish', 'unstage']) pods.pod(`after-${name}`, [name]);
  for (const name of [...raw, 'unpublish', 'unstage']) pods.rawPod(`after-block-${name}`, [`block-${name}`]);
  await pods.untilReady(...volumes.map((name) => `after-${name}`));
}

/** Pods that do not start. */
export async function refusePods(pods: CsiPeerPods): Promise<void> {
  pods.driver(drivers.main).setFaults(
    ...(['INVALID_ARGUMENT', 'DEADLINE_EXCEEDED'] as const).flatMap((code) =>
      ['Stage', 'Publish'].map((verb) => ({
        method: `Node${verb}Volume`,
        volume: `lost-${verb}-${code.toLowerCase()}`.toLowerCase().replaceAll('_', '-'),
        code,
        message: 'never',
      })),
    ),
  );
  const lost = ['stage', 'publish'].flatMap((verb) =>
    ['invalid-argument', 'deadline-exceeded'].map((code) => `lost-${verb}-${code}`),
  );
  for (const name of lost) pods.claim(name);
  pods.claim('absent', { driver: 'absent.example.com' });
  pods.claim('removed');
  pods.becomes('removed', { glusterfs: { endpoints: 'e', path: 'p' } });
  pods.claim('far', { volume: { nodeAffinity: affinity } });
  pods.claim('secretive', { csi: { nodePublishSecretRef: secretRef('missing') } });
  pods.claim('stage-secretive', { csi: { nodeStageSecretRef: secretRef('missing') } });
  pods.claim('block-mode', { volumeMode: 'Block' });
  pods.claim('file-mode');
  pods.claim('other');
  pods.node.csi.objects.patch('persistentvolumes', '', 'other', {
    spec: { claimRef: { uid: 'another' } },
  });
  const names = [...lost, 'absent', 'removed', 'far', 'secretive', 'stage-secretive', 'other'];
  for (const name of names) pods.pod(`no-${name}`, [name]);
  pods.pod('no-block-mode', ['block-mode']);
  pods.rawPod('no-file-mode', ['file-mode']);
  pods.pod('no-claim', ['nothing']);
  pods.pod('no-inline', [{ name: 'inline', csi: { driver: drivers.main } }]);
  pods.pod('no-inline-driver', [{ name: 'inline', csi: { driver: 'absent.example.com' } }]);
  pods.pod('no-lone', ['grouped']);
  pods.pod('no-removed-inline', [{ name: 'old', glusterfs: { endpoints: 'e', path: 'p' } }]);
  await pods.untilOthersRefused();
}
