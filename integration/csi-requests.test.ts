// What CSI drivers are given with a volume in a real container, and what the kubelet does in their place: groups, access modes, secrets,
// pod information and tokens.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Volume } from '../src/api/k8s/types.ts';
import { waitFor } from './rig/wait.ts';
import type { CsiDriver } from './support/csi-driver.ts';
import { type CsiNode, describeOnCsiNode, useCsiNode } from './support/csi-node.ts';

describeOnCsiNode('requests of CSI drivers', () => {
  let node: CsiNode;
  /** Stages, expands and measures; the fsGroup depends on file system type and access mode. */
  let main: CsiDriver;
  /** Neither stages nor expands; gets pod information and tokens again and again, and no fsGroup is applied. */
  let informed: CsiDriver;
  /** Applies the fsGroup itself, distinguishes the single-node access modes, and gets tokens as secrets. */
  let grouping: CsiDriver;
  /** The kubelet applies the fsGroup to all its volumes. */
  let filing: CsiDriver;

  useCsiNode(
    async (started) => {
      node = started;
      const tokenRequests = [{ audience: '' }, { audience: 'vault', expirationSeconds: 1200 }];
      [main, informed, grouping, filing] = await Promise.all([
        node.driver(),
        node.driver(
          { name: 'informed.example.com', capabilities: ['stats'] },
          {
            fsGroupPolicy: 'None',
            podInfoOnMount: true,
            requiresRepublish: true,
            tokenRequests,
            volumeLifecycleModes: ['Persistent', 'Ephemeral'],
          },
        ),
        node.driver(
          {
            name: 'grouping.example.com',
            capabilities: ['stage', 'volume-mount-group', 'single-node-multi-writer'],
          },
          { fsGroupPolicy: 'File', tokenRequests, serviceAccountTokenInSecrets: true },
        ),
        node.driver(
          { name: 'filing.example.com', kind: 'tmpfs', capabilities: [] },
          { fsGroupPolicy: 'File' },
        ),
      ]);
    },
    () => ({ config: { syncFrequency: '2s' } }),
  );

  const last = <Method extends 'NodeStageVolume' | 'NodePublishVolume'>(
    driver: CsiDriver,
    method: Method,
    handle: string,
  ): ReturnType<typeof driver.requests<Method>>[number] => {
    const found = driver.requests(method, handle).at(-1);
    if (found === undefined) throw new Error(`no ${method} of ${handle}`);
    return found;
  };

  test('the fsGroup is applied as the driver wants it, and a volume adds the group of its annotation', async () => {
    const fsType = { csi: { fsType: 'ext4' } };
    node.claim({ name: 'ext4-rwo', ...fsType });
    node.claim({ name: 'ext4-rwx', ...fsType, accessModes: ['ReadWriteMany'] });
    node.claim({ name: 'untyped' });
    node.claim({ name: 'filed', driver: filing.name, accessModes: ['ReadWriteMany'] });
    node.claim({ name: 'unfiled', driver: informed.name, ...fsType });
    node.claim({ name: 'grouped', driver: grouping.name });
    node.objects.patch('persistentvolumes', '', 'untyped', {
      metadata: { annotations: { 'pv.beta.kubernetes.io/gid': '4242' } },
    });
    const names = ['ext4-rwo', 'ext4-rwx', 'untyped', 'filed', 'unfiled', 'grouped'];
    node.createWith('grouped', names, {
      securityContext: { runAsUser: 1234, runAsGroup: 1234, fsGroup: 2000, supplementalGroups: [3000] },
    });
    const pod = await node.cluster.untilReady('grouped');
    expect(await node.exec(pod, `stat -c '%n %g' ${names.map((name) => `/${name}`).join(' ')}`)).toBe(
      ['/ext4-rwo 2000', '/ext4-rwx 0', '/untyped 0', '/filed 2000', '/unfiled 0', '/grouped 2000', ''].join(
        '\n',
      ),
    );
    for (const name of ['ext4-rwo', 'filed', 'grouped'])
      expect(await node.exec(pod, `echo x > /${name}/own; stat -c %g /${name}/own`)).toBe('2000\n');
    expect(
      (await node.exec(pod, 'id -G'))
        .trim()
        .split(' ')
        .map(Number)
        .sort((a, b) => a - b),
    ).toEqual([1234, 2000, 3000, 4242]);
    expect(last(grouping, 'NodePublishVolume', 'grouped').volumeCapability?.mount).toMatchObject({
      volumeMountGroup: '2000',
    });
    expect(last(grouping, 'NodeStageVolume', 'grouped').volumeCapability?.mount).toMatchObject({
      volumeMountGroup: '2000',
    });
    expect(last(main, 'NodePublishVolume', 'ext4-rwo').volumeCapability?.mount).toMatchObject({
      volumeMountGroup: '',
    });
    // A driver that stages nothing is given no staging directory.
    expect(last(filing, 'NodePublishVolume', 'filed').stagingTargetPath).toBe('');
    expect(existsSync(node.stagingDir('filed', filing.name))).toBe(false);
    await node.end('grouped');
    await node.untilNoLeftovers();
  });

  test('access modes are sent as the driver distinguishes them', async () => {
    const modes = ['ReadWriteOnce', 'ReadOnlyMany', 'ReadWriteMany', 'ReadWriteOncePod'];
    const names = modes.flatMap((mode, at) =>
      [main, grouping].map((driver) => {
        const name = `mode-${at}-${driver.name}`.replaceAll('.', '-');
        node.claim({ name, driver: driver.name, accessModes: [mode] });
        return { name, driver };
      }),
    );
    node.createWith(
      'modes',
      names.map(({ name }) => name),
    );
    await node.cluster.untilReady('modes');
    const sent = (driver: CsiDriver): readonly unknown[] =>
      names
        .filter((each) => each.driver === driver)
        .map(({ name }) => last(driver, 'NodePublishVolume', name).volumeCapability?.accessMode?.mode);
    expect(sent(main)).toEqual([1, 3, 5, 1]);
    expect(sent(grouping)).toEqual([7, 3, 5, 6]);
    await node.end('modes');
    await node.untilNoLeftovers();
  });

  const secretOf = (name: string, value: string): void => {
    node.objects.create('secrets', {
      metadata: { name, namespace: 'default' },
      data: { word: Buffer.from(value).toString('base64') },
    });
  };
  const identify = async (token: string): Promise<unknown> => {
    const { body } = await node.cluster.double.handle({
      method: 'POST',
      path: '/apis/authentication.k8s.io/v1/tokenreviews',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ spec: { token } }),
      user: { name: 'admin', groups: ['system:masters'] },
      signal: AbortSignal.timeout(5_000),
    });
    return (JSON.parse(typeof body === 'string' ? body : '') as { readonly status?: unknown }).status;
  };
  const tokenKey = 'csi.storage.k8s.io/serviceAccount.tokens';

  test('a driver is given secrets, attributes, pod information and tokens that authenticate as the pod', async () => {
    secretOf('stage-word', 'open-the-stage');
    secretOf('publish-word', 'open-the-target');
    secretOf('inline-word', 'open-inline');
    const ref = (name: string) => ({ name, namespace: 'default' });
    node.claim({
      name: 'given',
      csi: {
        nodeStageSecretRef: ref('stage-word'),
        nodePublishSecretRef: ref('publish-word'),
        volumeAttributes: { shape: 'round' },
      },
    });
    node.claim({ name: 'informed', driver: informed.name, csi: { volumeAttributes: { shape: 'square' } } });
    node.claim({
      name: 'tokened',
      driver: grouping.name,
      csi: { nodePublishSecretRef: ref('publish-word') },
    });
    const inline: Volume = {
      name: 'inline',
      csi: {
        driver: informed.name,
        readOnly: true,
        volumeAttributes: { shape: 'flat' },
        nodePublishSecretRef: { name: 'inline-word' },
      },
    };
    node.createWith('given', ['given', 'informed', 'tokened', inline]);
    const pod = await node.cluster.untilReady('given');
    expect(last(main, 'NodeStageVolume', 'given')).toMatchObject({
      secrets: { word: 'open-the-stage' },
      volumeContext: { shape: 'round' },
      publishContext: {},
    });
    expect(last(main, 'NodePublishVolume', 'given')).toMatchObject({
      secrets: { word: 'open-the-target' },
      volumeContext: { shape: 'round' },
    });
    const uid = pod.metadata?.uid ?? '';
    const podInfo = {
      'csi.storage.k8s.io/pod.name': 'given',
      'csi.storage.k8s.io/pod.namespace': 'default',
      'csi.storage.k8s.io/pod.uid': uid,
      'csi.storage.k8s.io/serviceAccount.name': 'default',
    };
    const { volumeContext, secrets } = last(informed, 'NodePublishVolume', 'informed');
    const { [tokenKey]: tokens = '', ...rest } = volumeContext;
    expect(rest).toEqual({ shape: 'square', ...podInfo, 'csi.storage.k8s.io/ephemeral': 'false' });
    expect(secrets).toEqual({});
    const inlineData = node.volData(node.volumeDir(pod, 'inline'));
    expect(inlineData).toMatchObject({ specVolID: 'inline', volumeLifecycleMode: 'Ephemeral' });
    const ofInline = last(informed, 'NodePublishVolume', inlineData['volumeHandle'] ?? '');
    expect(ofInline).toMatchObject({
      readonly: true,
      stagingTargetPath: '',
      secrets: { word: 'open-inline' },
      volumeContext: { shape: 'flat', ...podInfo, 'csi.storage.k8s.io/ephemeral': 'true' },
    });
    const ofSecrets = last(grouping, 'NodePublishVolume', 'tokened');
    expect(ofSecrets.volumeContext).toEqual({});
    expect(ofSecrets.secrets).toMatchObject({ word: 'open-the-target' });
    expect(Object.keys(last(grouping, 'NodeStageVolume', 'tokened').secrets)).toEqual([]);
    for (const text of [tokens, ofInline.volumeContext[tokenKey] ?? '', ofSecrets.secrets[tokenKey] ?? '']) {
      const byAudience = JSON.parse(text) as Record<string, { token: string; expirationTimestamp: string }>;
      expect(Object.keys(byAudience)).toEqual(['', 'vault']);
      for (const [audience, { expirationTimestamp, token }] of Object.entries(byAudience)) {
        expect(Date.parse(expirationTimestamp)).toBeGreaterThan(Date.now());
        expect(await identify(token)).toMatchObject({
          authenticated: true,
          user: {
            username: 'system:serviceaccount:default:default',
            extra: { 'authentication.kubernetes.io/pod-uid': [uid] },
          },
          audiences: audience === '' ? [expect.stringContaining('https://')] : ['vault'],
        });
      }
    }
    // The driver is called again, with new tokens, and nothing is mounted again.
    const calls = (): number => informed.requests('NodePublishVolume', 'informed').length;
    const before = calls();
    await waitFor(() => calls() >= before + 2, 'the volume to be published again');
    expect(informed.mountCount('informed', join(node.volumeDir(pod, 'informed'), 'mount'))).toBe(1);
    expect(main.requests('NodePublishVolume', 'given')).toHaveLength(1);
    // A driver that fails meanwhile does not disturb the pod.
    informed.setFaults({
      method: 'NodePublishVolume',
      volume: 'informed',
      code: 'INTERNAL',
      message: 'tired',
    });
    await node.untilEvent('FailedMount', 'tired');
    informed.clearFaults();
    expect(await node.exec(pod, 'cat /informed/csi-volume.json')).toContain('informed');
    await node.end('given');
    await node.untilNoLeftovers();
    const logged = node.kubelet.log.lines().join('\n');
    const token = (JSON.parse(tokens) as Record<string, { token: string }>)['vault']?.token ?? '';
    expect(token).not.toBe('');
    for (const secret of ['open-the-stage', 'open-the-target', 'open-inline', token]) {
      expect(logged).not.toContain(secret);
      expect(JSON.stringify(node.objects.list('events'))).not.toContain(secret);
    }
    // An inline volume ends with its pod.
    expect(informed.events('delete').map(({ volume }) => volume)).toContain(inlineData['volumeHandle']);
  });

  test('no two calls for one volume were made at the same time', () => {
    expect(node.drivers.flatMap((driver) => driver.overlaps())).toEqual([]);
  });
});
