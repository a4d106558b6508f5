// Volumes and their sources. Which field is rejected.
import { runCases } from '../../../../test/builders/validation-cases.ts';

runCases([
  {
    name: 'volumes',
    base: { spec: { serviceAccountName: 'sa' } },
    cases: [
      ['spec.volumes', [{}], ['spec.volumes[0].name: Required value']],
      ['spec.volumes', [{ name: 'A' }], ['spec.volumes[0].name: Invalid value']],
      ['spec.volumes', [{ name: 'a' }, { name: 'a' }], ['spec.volumes[1].name: Duplicate value']],
      [
        'spec.volumes',
        [{ name: 'a', emptyDir: {}, hostPath: { path: '/x' } }],
        ['spec.volumes[0].hostPath: Forbidden'],
      ],
      [
        'spec.volumes',
        [{ name: 'a', emptyDir: { sizeLimit: '-1' } }],
        ['spec.volumes[0].emptyDir.sizeLimit: Forbidden'],
      ],
      ['spec.volumes', [{ name: 'a', hostPath: {} }], ['spec.volumes[0].hostPath.path: Required value']],
      [
        'spec.volumes',
        [{ name: 'a', hostPath: { path: '/a/../b' } }],
        ['spec.volumes[0].hostPath.path: Invalid value'],
      ],
      [
        'spec.volumes',
        [{ name: 'a', hostPath: { path: '/a', type: 'Folder' } }],
        ['spec.volumes[0].hostPath.type: Unsupported value'],
      ],
      [
        'spec.volumes',
        [{ name: 'a', gitRepo: { directory: '/x' } }],
        [
          'spec.volumes[0].gitRepo.repository: Required value',
          'spec.volumes[0].gitRepo.directory: Invalid value',
        ],
      ],
      [
        'spec.volumes',
        [{ name: 'a', gcePersistentDisk: { partition: 256 } }],
        [
          'spec.volumes[0].gcePersistentDisk.pdName: Required value',
          'spec.volumes[0].gcePersistentDisk.partition: Invalid value',
        ],
      ],
      [
        'spec.volumes',
        [{ name: 'a', awsElasticBlockStore: { partition: -1 } }],
        [
          'spec.volumes[0].awsElasticBlockStore.volumeID: Required value',
          'spec.volumes[0].awsElasticBlockStore.partition: Invalid value',
        ],
      ],
      [
        'spec.volumes',
        [
          {
            name: 'a',
            secret: {
              defaultMode: 512,
              items: [
                { key: '', path: '/x', mode: -1 },
                { key: 'a', path: '..x' },
              ],
            },
          },
        ],
        [
          'spec.volumes[0].secret.secretName: Required value',
          'spec.volumes[0].secret.defaultMode: Invalid value',
          'spec.volumes[0].secret.items[0].key: Required value',
          'spec.volumes[0].secret.items[0].path: Invalid value',
          'spec.volumes[0].secret.items[0].mode: Invalid value',
          'spec.volumes[0].secret.items[1].path: Invalid value',
        ],
      ],
      [
        'spec.volumes',
        [{ name: 'a', configMap: { defaultMode: -1, items: [{ key: 'a', path: 'a/../b' }, {}] } }],
        [
          'spec.volumes[0].configMap.name: Required value',
          'spec.volumes[0].configMap.defaultMode: Invalid value',
          'spec.volumes[0].configMap.items[0].path: Invalid value',
          'spec.volumes[0].configMap.items[1].key: Required value',
          'spec.volumes[0].configMap.items[1].path: Required value',
        ],
      ],
      [
        'spec.volumes',
        [{ name: 'a', nfs: { path: 'x' } }],
        ['spec.volumes[0].nfs.server: Required value', 'spec.volumes[0].nfs.path: Invalid value'],
      ],
      [
        'spec.volumes',
        [{ name: 'a', iscsi: { lun: 256, chapAuthSession: true } }],
        [
          'spec.volumes[0].iscsi.targetPortal: Required value',
          'spec.volumes[0].iscsi.iqn: Required value',
          'spec.volumes[0].iscsi.lun: Invalid value',
          'spec.volumes[0].iscsi.secretRef: Required value',
        ],
      ],
      [
        'spec.volumes',
        [{ name: 'a', iscsi: { targetPortal: 'p', iqn: 'foo', initiatorName: 'eui.x' } }],
        ['spec.volumes[0].iscsi.iqn: Invalid value', 'spec.volumes[0].iscsi.initiatorName: Invalid value'],
      ],
      [
        'spec.volumes',
        [
          {
            name: 'a',
            iscsi: {
              targetPortal: 'p'.repeat(70),
              iqn: 'iqn.2020-01.com.x:y',
              initiatorName: 'iqn.2020-01.com.x:y',
            },
          },
        ],
        ['spec.volumes[0].name: Invalid value'],
      ],
      [
        'spec.volumes',
        [{ name: 'a', iscsi: { targetPortal: 'p', iqn: 'iqn.bad' } }],
        ['spec.volumes[0].iscsi.iqn: Invalid value'],
      ],
      [
        'spec.volumes',
        [{ name: 'a', glusterfs: {} }],
        [
          'spec.volumes[0].glusterfs.endpoints: Required value',
          'spec.volumes[0].glusterfs.path: Required value',
        ],
      ],
      ['spec.volumes', [{ name: 'a', flocker: {} }], ['spec.volumes[0].flocker: Required value']],
      [
        'spec.volumes',
        [{ name: 'a', flocker: { datasetName: 'a/b', datasetUUID: 'x' } }],
        ['spec.volumes[0].flocker: Invalid value', 'spec.volumes[0].flocker.datasetName: Invalid value'],
      ],
      [
        'spec.volumes',
        [{ name: 'a', persistentVolumeClaim: {} }],
        ['spec.volumes[0].persistentVolumeClaim.claimName: Required value'],
      ],
      [
        'spec.volumes',
        [{ name: 'a', rbd: {} }],
        ['spec.volumes[0].rbd.monitors: Required value', 'spec.volumes[0].rbd.image: Required value'],
      ],
      [
        'spec.volumes',
        [{ name: 'a', cinder: { secretRef: {} } }],
        [
          'spec.volumes[0].cinder.volumeID: Required value',
          'spec.volumes[0].cinder.secretRef.name: Required value',
        ],
      ],
      ['spec.volumes', [{ name: 'a', cephfs: {} }], ['spec.volumes[0].cephfs.monitors: Required value']],
      [
        'spec.volumes',
        [{ name: 'a', quobyte: {} }],
        [
          'spec.volumes[0].quobyte.registry: Required value',
          'spec.volumes[0].quobyte.volume: Required value',
        ],
      ],
      [
        'spec.volumes',
        [{ name: 'a', quobyte: { registry: 'a:1,b', volume: 'v' } }],
        ['spec.volumes[0].quobyte.registry: Invalid value'],
      ],
      [
        'spec.volumes',
        [{ name: 'a', quobyte: { registry: 'a:1', volume: 'v', tenant: 'x'.repeat(65) } }],
        ['spec.volumes[0].quobyte.tenant: Required value'],
      ],
      ['spec.volumes', [{ name: 'a', quobyte: { registry: '[::1]:1,b:2', volume: 'v' } }], []],
      [
        'spec.volumes',
        [
          {
            name: 'a',
            downwardAPI: {
              defaultMode: 512,
              items: [
                {},
                { path: 'a', fieldRef: { fieldPath: 'spec.nodeName' } },
                { path: 'b', resourceFieldRef: { resource: 'limits.cpu' } },
                { path: 'c', mode: 512, fieldRef: { fieldPath: 'metadata.name' }, resourceFieldRef: {} },
              ],
            },
          },
        ],
        [
          'spec.volumes[0].downwardAPI.defaultMode: Invalid value',
          'spec.volumes[0].downwardAPI.items[0].path: Required value',
          'spec.volumes[0].downwardAPI.items[0]: Required value',
          'spec.volumes[0].downwardAPI.items[1].fieldRef.fieldPath: Unsupported value',
          'spec.volumes[0].downwardAPI.items[2].resourceFieldRef.containerName: Required value',
          'spec.volumes[0].downwardAPI.items[3]: Invalid value',
          'spec.volumes[0].downwardAPI.items[3].mode: Invalid value',
        ],
      ],
      ['spec.volumes', [{ name: 'a', fc: {} }], ['spec.volumes[0].fc.targetWWNs: Required value']],
      [
        'spec.volumes',
        [{ name: 'a', fc: { targetWWNs: ['a'], wwids: ['b'], lun: 256 } }],
        ['spec.volumes[0].fc.targetWWNs: Invalid value', 'spec.volumes[0].fc.lun: Invalid value'],
      ],
      [
        'spec.volumes',
        [{ name: 'a', flexVolume: { options: { 'a.k8s.io/x': 'y', 'kubernetes.io': 'z', b: 'c' } } }],
        [
          'spec.volumes[0].flexVolume.driver: Required value',
          'spec.volumes[0].flexVolume.options[a.k8s.io/x]: Invalid value',
          'spec.volumes[0].flexVolume.options[kubernetes.io]: Invalid value',
        ],
      ],
      [
        'spec.volumes',
        [{ name: 'a', azureFile: {} }],
        [
          'spec.volumes[0].azureFile.secretName: Required value',
          'spec.volumes[0].azureFile.shareName: Required value',
        ],
      ],
      [
        'spec.volumes',
        [{ name: 'a', vsphereVolume: {} }],
        ['spec.volumes[0].vsphereVolume.volumePath: Required value'],
      ],
      [
        'spec.volumes',
        [{ name: 'a', photonPersistentDisk: {} }],
        ['spec.volumes[0].photonPersistentDisk.pdID: Required value'],
      ],
      [
        'spec.volumes',
        [{ name: 'a', portworxVolume: {} }],
        ['spec.volumes[0].portworxVolume.volumeID: Required value'],
      ],
      [
        'spec.volumes',
        [{ name: 'a', azureDisk: { cachingMode: 'x', kind: 'y' } }],
        [
          'spec.volumes[0].azureDisk.diskName: Required value',
          'spec.volumes[0].azureDisk.diskURI: Required value',
          'spec.volumes[0].azureDisk.cachingMode: Unsupported value',
          'spec.volumes[0].azureDisk.kind: Unsupported value',
          'spec.volumes[0].azureDisk.diskURI: Unsupported value',
        ],
      ],
      [
        'spec.volumes',
        [{ name: 'a', azureDisk: { diskName: 'd', diskURI: 'https://x', kind: 'Managed' } }],
        ['spec.volumes[0].azureDisk.diskURI: Unsupported value'],
      ],
      [
        'spec.volumes',
        [{ name: 'a', storageos: { volumeName: 'A', volumeNamespace: 'B', secretRef: {} } }],
        [
          'spec.volumes[0].storageos.volumeName: Invalid value',
          'spec.volumes[0].storageos.volumeNamespace: Invalid value',
          'spec.volumes[0].storageos.secretRef.name: Required value',
        ],
      ],
      [
        'spec.volumes',
        [{ name: 'a', scaleIO: {} }],
        [
          'spec.volumes[0].scaleIO.gateway: Required value',
          'spec.volumes[0].scaleIO.system: Required value',
          'spec.volumes[0].scaleIO.volumeName: Required value',
        ],
      ],
      [
        'spec.volumes',
        [{ name: 'a', csi: { driver: 'a b', nodePublishSecretRef: {} } }],
        [
          'spec.volumes[0].csi.driver: Invalid value',
          'spec.volumes[0].csi.nodePublishSecretRef.name: Required value',
        ],
      ],
      [
        'spec.volumes',
        [{ name: 'a', csi: { driver: 'x'.repeat(64), nodePublishSecretRef: { name: 'B' } } }],
        [
          'spec.volumes[0].csi.driver: Too long',
          'spec.volumes[0].csi.nodePublishSecretRef.name: Invalid value',
        ],
      ],
      [
        'spec.volumes',
        [{ name: 'a', csi: {} }],
        ['spec.volumes[0].csi.driver: Required value', 'spec.volumes[0].csi.driver: Invalid value'],
      ],
      [
        'spec.volumes',
        [{ name: 'a', image: { pullPolicy: 'Often' } }],
        [
          'spec.volumes[0].image.reference: Required value',
          'spec.volumes[0].image.pullPolicy: Unsupported value',
        ],
      ],
      [
        'spec.volumes',
        [{ name: 'a', ephemeral: {} }],
        ['spec.volumes[0].ephemeral.volumeClaimTemplate: Required value'],
      ],
      [
        'spec.volumes',
        [
          {
            name: 'a',
            ephemeral: {
              volumeClaimTemplate: {
                metadata: { name: 'x', labels: { a: 'b!' } },
                spec: {
                  accessModes: ['Read', 'ReadWriteOncePod', 'ReadWriteOnce'],
                  volumeMode: 'Disk',
                  storageClassName: 'B',
                  resources: { requests: { storage: '0' } },
                },
              },
            },
          },
        ],
        [
          'spec.volumes[0].ephemeral.volumeClaimTemplate.metadata.labels: Invalid value',
          'spec.volumes[0].ephemeral.volumeClaimTemplate.metadata.name: Forbidden',
          'spec.volumes[0].ephemeral.volumeClaimTemplate.spec.accessModes: Unsupported value',
          'spec.volumes[0].ephemeral.volumeClaimTemplate.spec.accessModes: Forbidden',
          'spec.volumes[0].ephemeral.volumeClaimTemplate.spec.resources[storage]: Invalid value',
          'spec.volumes[0].ephemeral.volumeClaimTemplate.spec.storageClassName: Invalid value',
          'spec.volumes[0].ephemeral.volumeClaimTemplate.spec.volumeMode: Unsupported value',
        ],
      ],
      [
        'spec.volumes',
        [
          {
            name: 'a',
            ephemeral: {
              volumeClaimTemplate: {
                spec: {
                  dataSource: { kind: 'X', name: '' },
                  dataSourceRef: {
                    kind: 'PersistentVolumeClaim',
                    name: 'b',
                    apiGroup: 'B C',
                    namespace: 'N',
                  },
                },
              },
            },
          },
        ],
        [
          'spec.volumes[0].ephemeral.volumeClaimTemplate.spec.accessModes: Required value',
          'spec.volumes[0].ephemeral.volumeClaimTemplate.spec.resources[storage]: Required value',
          'spec.volumes[0].ephemeral.volumeClaimTemplate.spec.dataSource.name: Required value',
          'spec.volumes[0].ephemeral.volumeClaimTemplate.spec.dataSource: Invalid value',
          'spec.volumes[0].ephemeral.volumeClaimTemplate.spec.dataSourceRef.apiGroup: Invalid value',
          'spec.volumes[0].ephemeral.volumeClaimTemplate.spec.dataSourceRef.namespace: Invalid value',
          'spec.volumes[0].ephemeral.volumeClaimTemplate.spec: Invalid value',
        ],
      ],
      [
        'spec.volumes',
        [
          {
            name: 'a',
            ephemeral: {
              volumeClaimTemplate: {
                spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1' } } },
              },
            },
          },
          { name: 'b', persistentVolumeClaim: { claimName: 'web-node-1-a' } },
        ],
        ['spec.volumes[1].persistentVolumeClaim.claimName: Invalid value'],
      ],
      [
        'spec.volumes',
        [
          {
            name: 'a',
            ephemeral: {
              volumeClaimTemplate: {
                spec: {
                  accessModes: ['ReadWriteOnce'],
                  resources: { requests: { storage: '1' } },
                  dataSource: { kind: 'PersistentVolumeClaim', name: 'x' },
                  dataSourceRef: { kind: 'PersistentVolumeClaim', name: 'y' },
                },
              },
            },
          },
        ],
        ['spec.volumes[0].ephemeral.volumeClaimTemplate.spec: Invalid value'],
      ],
    ],
  },
]);
