// Validates volume sources. A table: a source that is missing here does not exist in the API.
// Upstream: pkg/apis/core/validation (one validator for each source).

import { isDns1123Label, isDns1123Subdomain } from '../../../api/k8s/names.ts';
import type { Volume } from '../../../api/k8s/types.ts';
import { Quantity } from '../../../api/quantity/quantity.ts';
import { bytesOf, type Violations } from '../violation.ts';
import { checkClaimTemplate } from './claim-template.ts';
import { checkDownwardFiles } from './downward-api.ts';
import {
  checkAzureDisk,
  checkFibreChannel,
  checkFlexOptions,
  checkIscsi,
  checkQuobyte,
} from './network-volumes.ts';
import { checkDescendingPath, checkFileMode, checkKeysToPaths, checkNoBacksteps } from './paths.ts';
import { checkProjected } from './projected-volume.ts';

export type SourceName = Exclude<keyof Volume, 'name'>;
type SourceRule = (v: Violations, path: string, volume: Volume) => void;

const hostPathTypes = [
  '',
  'BlockDevice',
  'CharDevice',
  'Directory',
  'DirectoryOrCreate',
  'File',
  'FileOrCreate',
  'Socket',
];
export const pullPolicies = ['Always', 'IfNotPresent', 'Never'];
const driverNameBytes = 63;

/** In the API's order: of two sources, the first is validated and the second rejected. */
export const volumeSources: Readonly<Record<SourceName, SourceRule>> = {
  emptyDir: (v, path, { emptyDir }) => {
    if (emptyDir?.sizeLimit !== undefined && Quantity.parse(emptyDir.sizeLimit).sign() < 0)
      v.forbidden(`${path}.sizeLimit`, 'must not be negative');
  },
  hostPath: (v, path, { hostPath }) => {
    v.requiredText(`${path}.path`, hostPath?.path);
    if (!hostPath?.path) return;
    checkNoBacksteps(v, `${path}.path`, hostPath.path);
    v.word(`${path}.type`, hostPath.type, hostPathTypes);
  },
  gitRepo: (v, path, { gitRepo }) => {
    v.requiredText(`${path}.repository`, gitRepo?.repository);
    checkDescendingPath(v, `${path}.directory`, gitRepo?.directory ?? '');
  },
  gcePersistentDisk: (v, path, { gcePersistentDisk }) => {
    v.requiredText(`${path}.pdName`, gcePersistentDisk?.pdName);
    v.range(`${path}.partition`, gcePersistentDisk?.partition, 0, 255);
  },
  awsElasticBlockStore: (v, path, { awsElasticBlockStore }) => {
    v.requiredText(`${path}.volumeID`, awsElasticBlockStore?.volumeID);
    v.range(`${path}.partition`, awsElasticBlockStore?.partition, 0, 255);
  },
  secret: (v, path, { secret }) => {
    v.requiredText(`${path}.secretName`, secret?.secretName);
    checkFileMode(v, `${path}.defaultMode`, secret?.defaultMode);
    checkKeysToPaths(v, `${path}.items`, secret?.items ?? []);
  },
  nfs: (v, path, { nfs }) => {
    v.requiredText(`${path}.server`, nfs?.server);
    v.requiredText(`${path}.path`, nfs?.path);
    if (!nfs?.path?.startsWith('/')) v.invalid(`${path}.path`, nfs?.path, 'must be an absolute path');
  },
  iscsi: (v, path, { iscsi }) => checkIscsi(v, path, iscsi),
  glusterfs: (v, path, { glusterfs }) => {
    v.requiredText(`${path}.endpoints`, glusterfs?.endpoints);
    v.requiredText(`${path}.path`, glusterfs?.path);
  },
  flocker: (v, path, { flocker }) => {
    const { datasetName = '', datasetUUID = '' } = flocker ?? {};
    if (datasetName === '' && datasetUUID === '')
      v.required(path, 'needs one of datasetName and datasetUUID');
    if (datasetName !== '' && datasetUUID !== '')
      v.invalid(path, 'resource', 'must not have both datasetName and datasetUUID');
    if (datasetName.includes('/')) v.invalid(`${path}.datasetName`, datasetName, "must not contain '/'");
  },
  persistentVolumeClaim: (v, path, { persistentVolumeClaim }) =>
    v.requiredText(`${path}.claimName`, persistentVolumeClaim?.claimName),
  rbd: (v, path, { rbd }) => {
    if ((rbd?.monitors ?? []).length === 0) v.required(`${path}.monitors`);
    v.requiredText(`${path}.image`, rbd?.image);
  },
  cinder: (v, path, { cinder }) => {
    v.requiredText(`${path}.volumeID`, cinder?.volumeID);
    if (cinder?.secretRef !== undefined) v.requiredText(`${path}.secretRef.name`, cinder.secretRef.name);
  },
  cephfs: (v, path, { cephfs }) => {
    if ((cephfs?.monitors ?? []).length === 0) v.required(`${path}.monitors`);
  },
  quobyte: (v, path, { quobyte }) => checkQuobyte(v, path, quobyte),
  downwardAPI: (v, path, { downwardAPI }) => {
    checkFileMode(v, `${path}.defaultMode`, downwardAPI?.defaultMode);
    checkDownwardFiles(v, path, downwardAPI?.items ?? []);
  },
  fc: (v, path, { fc }) => checkFibreChannel(v, path, fc),
  flexVolume: (v, path, { flexVolume }) => {
    v.requiredText(`${path}.driver`, flexVolume?.driver);
    checkFlexOptions(v, `${path}.options`, flexVolume?.options ?? {});
  },
  configMap: (v, path, { configMap }) => {
    v.requiredText(`${path}.name`, configMap?.name);
    checkFileMode(v, `${path}.defaultMode`, configMap?.defaultMode);
    checkKeysToPaths(v, `${path}.items`, configMap?.items ?? []);
  },
  azureFile: (v, path, { azureFile }) => {
    v.requiredText(`${path}.secretName`, azureFile?.secretName);
    v.requiredText(`${path}.shareName`, azureFile?.shareName);
  },
  vsphereVolume: (v, path, { vsphereVolume }) =>
    v.requiredText(`${path}.volumePath`, vsphereVolume?.volumePath),
  photonPersistentDisk: (v, path, { photonPersistentDisk }) =>
    v.requiredText(`${path}.pdID`, photonPersistentDisk?.pdID),
  portworxVolume: (v, path, { portworxVolume }) =>
    v.requiredText(`${path}.volumeID`, portworxVolume?.volumeID),
  azureDisk: (v, path, { azureDisk }) => checkAzureDisk(v, path, azureDisk),
  storageos: (v, path, { storageos }) => {
    v.requiredText(`${path}.volumeName`, storageos?.volumeName, isDns1123Label);
    v.text(`${path}.volumeNamespace`, storageos?.volumeNamespace, isDns1123Label);
    if (storageos?.secretRef !== undefined)
      v.requiredText(`${path}.secretRef.name`, storageos.secretRef.name);
  },
  projected: (v, path, { projected }) => {
    checkFileMode(v, `${path}.defaultMode`, projected?.defaultMode);
    checkProjected(v, path, projected?.sources ?? []);
  },
  scaleIO: (v, path, { scaleIO }) => {
    v.requiredText(`${path}.gateway`, scaleIO?.gateway);
    v.requiredText(`${path}.system`, scaleIO?.system);
    v.requiredText(`${path}.volumeName`, scaleIO?.volumeName);
  },
  csi: (v, path, { csi }) => {
    const driver = csi?.driver ?? '';
    if (driver === '') v.required(`${path}.driver`);
    if (bytesOf(driver) > driverNameBytes) v.tooLong(`${path}.driver`, driverNameBytes);
    for (const detail of isDns1123Subdomain(driver.toLowerCase()))
      v.invalid(`${path}.driver`, driver, detail);
    const secret = csi?.nodePublishSecretRef;
    if (secret !== undefined)
      v.requiredText(`${path}.nodePublishSecretRef.name`, secret.name, isDns1123Subdomain);
  },
  ephemeral: (v, path, { ephemeral }) => {
    if (ephemeral?.volumeClaimTemplate === undefined) v.required(`${path}.volumeClaimTemplate`);
    else checkClaimTemplate(v, `${path}.volumeClaimTemplate`, ephemeral.volumeClaimTemplate);
  },
  image: (v, path, { image }) => {
    v.requiredText(`${path}.reference`, image?.reference);
    v.requiredWord(`${path}.pullPolicy`, image?.pullPolicy, pullPolicies);
  },
};
