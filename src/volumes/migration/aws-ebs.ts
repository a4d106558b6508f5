// Translates kubernetes.io/aws-ebs. Pure. Upstream: staging/src/k8s.io/csi-translation-lib/plugins/aws_ebs.go.
import type { AWSElasticBlockStoreVolumeSource, CSIPersistentVolumeSource } from '../../api/k8s/types.ts';
import { ebsVolumeId } from './aws-volume-id.ts';
import { csiSource } from './csi-source.ts';
import type { Translator } from './translator.ts';

const driver = 'ebs.csi.aws.com';

export const awsEbs: Translator = {
  field: 'awsElasticBlockStore',
  topology: { zone: 'topology.ebs.csi.aws.com/zone' },
  persistent({ spec }) {
    const source = spec?.awsElasticBlockStore;
    return source && { csi: translate(source) };
  },
  inline({ awsElasticBlockStore: source }) {
    if (!source) return undefined;
    const csi = translate(source);
    return { csi, name: `${driver}-${csi.volumeHandle}`, accessMode: 'ReadWriteOnce' };
  },
};

function translate(source: AWSElasticBlockStoreVolumeSource): CSIPersistentVolumeSource {
  const { volumeID, readOnly, fsType } = source;
  const attributes = { partition: String(source.partition ?? 0) };
  return csiSource({ driver, handle: ebsVolumeId(volumeID), readOnly, fsType, attributes });
}
