// Reads what a set-up needs from the API server and the driver, before anything is changed on disk or in the driver.
// Upstream: the first half of MountDevice, SetUpAt, SetUpDevice and MapPodDevice of the csi plugin.
// Invariants: the API server is read within a deadline, and each object once per attempt; a failure here changes nothing.
import type { CSIDriver } from '../../api/k8s/types.ts';
import { podUid } from '../../api/pod/pod-ref.ts';
import type { CsiCapabilities } from '../../api/ports/csi.ts';
import { withDeadline } from '../../base/abort/deadline.ts';
import { KubeletError } from '../../base/errors.ts';
import type { SetUpRequest } from '../plugin.ts';
import { computeAttachFailure } from './compute-attachment.ts';
import {
  computeFsGroupPolicy,
  computeUnsupportedMode,
  computeVolumeContext,
} from './compute-driver-policy.ts';
import type { CsiVolume } from './csi-volume.ts';
import type { CsiContext } from './deps.ts';
import type { VolumeCalls } from './driver-calls.ts';
import { driverMissing, failedAt, named, type Step } from './failure.ts';
import { attachmentName } from './names.ts';
import { type DriverTokens, readSecret, readTokens } from './read-secrets.ts';

/** Deadline of all requests to the API server; short, since the volume of an earlier process is used if it does not respond. */
const apiTimeoutMs = 30_000;

export interface Preparation {
  readonly client: VolumeCalls;
  readonly capabilities: CsiCapabilities;
  readonly object: CSIDriver | undefined;
  /** From the VolumeAttachment; empty if the volume needs no attaching. */
  readonly publishContext: Readonly<Record<string, string>>;
  readonly stageSecrets: Readonly<Record<string, string>>;
  readonly publishSecrets: Readonly<Record<string, string>>;
  readonly volumeContext: Readonly<Record<string, string>>;
  readonly fsGroupPolicy: string;
}

/** Upstream's words for a failure, and the step that it belongs to. */
interface Words {
  readonly stageStep: Step;
  readonly client: string;
  readonly capabilities: string;
  readonly object: string;
  readonly stageSecret: (name: string) => string;
  readonly publishStep: Step;
  readonly publishSecret: (name: string) => string;
}

const mountWords: Words = {
  stageStep: 'MountDevice',
  client: named('attacher.MountDevice failed to create newCsiDriverClient: '),
  capabilities: '',
  object: named('mounter.SetupAt failed to check volume lifecycle mode: '),
  stageSecret: (name) => `fetching NodeStageSecretRef ${name} failed: `,
  publishStep: undefined,
  publishSecret: (name) => `fetching NodePublishSecretRef ${name} failed: `,
};

const inlineWords: Words = {
  ...mountWords,
  stageStep: undefined,
  client: named('mounter.SetUpAt failed to get CSI client: '),
  capabilities: named(
    'mounter.SetUpAt failed to determine if the node service has VOLUME_MOUNT_GROUP capability: ',
  ),
};

const blockWords: Words = {
  stageStep: undefined,
  client: named('blockMapper.SetUpDevice failed to get CSI client: '),
  capabilities: named('blockMapper.stageVolumeForBlock failed to check STAGE_UNSTAGE_VOLUME capability: '),
  object: named('blockMapper.SetupDevice failed to check CSIDriver: '),
  stageSecret: (name) => named(`failed to get NodeStageSecretRef ${name}: `),
  publishStep: 'MapPodDevice',
  publishSecret: (name) =>
    named(`blockMapper.publishVolumeForBlock failed to get NodePublishSecretRef ${name}: `),
};

interface PrepareRequest {
  readonly request: SetUpRequest;
  readonly volume: CsiVolume;
  /** Whether the driver is to stage the volume, if it can. */
  readonly mayStage: boolean;
}

export async function prepare(
  context: CsiContext,
  what: PrepareRequest,
  signal: AbortSignal,
): Promise<Preparation> {
  const { request, volume } = what;
  const words = request.spec.isBlock ? blockWords : volume.isEphemeral ? inlineWords : mountWords;
  const driver = context.drivers.get(volume.driver);
  if (driver === undefined) throw failedAt(words.stageStep, driverMissing(volume.driver), words.client);
  const { isMigrated: migrated = false, name } = request.spec;
  const { onWait } = request;
  const client = context.calls.of(driver, podUid(request.pod), name, { migrated, onWait });
  const at = async <T>(step: Step, before: string, work: Promise<T>): Promise<T> =>
    await work.catch((err: unknown) => {
      throw signal.aborted ? err : failedAt(step, err, before);
    });
  const capabilities = await at(words.stageStep, words.capabilities, client.capabilities(signal));
  const deadline = {
    clock: context.ownership.clock,
    ms: apiTimeoutMs,
    signal,
    what: 'read the API objects of a CSI volume',
  };
  const isStaging = capabilities.stage && what.mayStage && !volume.isEphemeral;
  return await withDeadline(deadline, async (within) => {
    const object = await at(undefined, words.object, context.storage.csiDriver(volume.driver, within));
    if (!request.spec.isBlock) checkDriver(volume, object);
    const publishContext = await readPublishContext(context, volume, object, within);
    const { publishSecret, stageSecret } = volume;
    const stageSecrets = isStaging
      ? await at(
          words.stageStep,
          words.stageSecret(shown(stageSecret)),
          readSecret(context, stageSecret, within),
        )
      : {};
    const secrets = await at(
      words.publishStep,
      words.publishSecret(shown(publishSecret)),
      readSecret(context, publishSecret, within),
    );
    const tokens = await at(
      undefined,
      named('mounter.SetUpAt failed to get service accoount token attributes: '),
      tokensOf(context, request, object, within),
    );
    return {
      client,
      capabilities,
      object,
      publishContext,
      stageSecrets,
      publishSecrets: { ...secrets, ...(tokens.inSecrets ? tokens.fields : {}) },
      volumeContext: {
        ...computeVolumeContext(volume, request.pod, object),
        ...(tokens.inSecrets ? {} : tokens.fields),
      },
      fsGroupPolicy: computeFsGroupPolicy(object),
    };
  });
}

function shown({
  name = '',
  namespace = '',
}: {
  readonly name?: string;
  readonly namespace?: string;
} = {}): string {
  return `${namespace}/${name}`;
}

function checkDriver(volume: CsiVolume, object: CSIDriver | undefined): void {
  const problem = computeUnsupportedMode(volume, object);
  if (problem !== undefined)
    throw invalid(named(`mounter.SetupAt failed to check volume lifecycle mode: ${problem}`));
  if (computeFsGroupPolicy(object) === '')
    throw invalid(
      named(
        `mounter.SetupAt failed to check fsGroup policy: ${named('expected valid fsGroupPolicy, received nil value or empty string')}`,
      ),
    );
}

function invalid(message: string): KubeletError {
  return new KubeletError('invalid', 'FailedMount', message);
}

/** Drivers are given no tokens for block volumes, as upstream. */
async function tokensOf(
  context: CsiContext,
  { pod, spec }: SetUpRequest,
  object: CSIDriver | undefined,
  signal: AbortSignal,
): Promise<DriverTokens> {
  return spec.isBlock ? { inSecrets: false, fields: {} } : await readTokens(context, object, pod, signal);
}

async function readPublishContext(
  { nodeName, storage }: CsiContext,
  volume: CsiVolume,
  object: CSIDriver | undefined,
  signal: AbortSignal,
): Promise<Readonly<Record<string, string>>> {
  if (volume.isEphemeral || object?.spec.attachRequired === false) return {};
  const name = attachmentName(volume, nodeName);
  const { handle } = volume;
  const attachment = await storage.volumeAttachment(name, signal).catch((err: unknown) => {
    throw failedAt('WaitForAttach', err, `volume ${handle} has GET error for volume attachment ${name}: `);
  });
  const failure = computeAttachFailure(attachment, { handle, name }, object);
  if (failure !== undefined)
    throw failedAt('WaitForAttach', new KubeletError('conflict', 'FailedMount', failure.message));
  return attachment.status?.attachmentMetadata ?? {};
}
