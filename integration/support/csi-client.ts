// A client of a CSI driver's sockets that is not the kubelet, for checks of the driver of the tests itself.
import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { type ServiceError, status } from '@grpc/grpc-js';
import { callOnce } from '../../examples/device-plugin/grpc.ts';
import {
  IdentityDefinition,
  VolumeCapability_AccessMode_Mode as Mode,
  NodeDefinition,
  type NodePublishVolumeRequest,
  type NodeStageVolumeRequest,
  type VolumeCapability,
} from '../../src/api/csi/generated/csi/v1/csi.ts';
import { RegistrationDefinition } from '../../src/api/kubelet/generated/pluginregistration/v1/api.ts';
import type { Code } from '../../test/csi-driver/grpc.ts';
import type { VolumeKind } from '../../test/csi-driver/options.ts';
import type { CsiDriver } from './csi-driver.ts';

export function capabilityOf(kind: VolumeKind, mode: Mode = Mode.SINGLE_NODE_WRITER): VolumeCapability {
  const access =
    kind === 'block' ? { block: {} } : { mount: { fsType: '', mountFlags: [], volumeMountGroup: '' } };
  return { ...access, accessMode: { mode } };
}

export class CsiClient {
  readonly #driver: CsiDriver;

  constructor(driver: CsiDriver) {
    this.#driver = driver;
  }

  /** Calls the node service; missing fields of the request are empty. */
  node<Response = object>(
    method: keyof typeof NodeDefinition.methods,
    request: object = {},
    timeoutMs?: number,
  ): Promise<Response> {
    const { requestType } = NodeDefinition.methods[method];
    const full = requestType.fromPartial(request);
    return callOnce<Response>(this.#driver.sockets.endpoint, NodeDefinition, method, full, timeoutMs);
  }

  identity<Response>(method: keyof typeof IdentityDefinition.methods): Promise<Response> {
    return callOnce<Response>(this.#driver.sockets.endpoint, IdentityDefinition, method, {});
  }

  /** Calls the registration service, as the kubelet's plugin manager. */
  registration<Response>(
    method: keyof typeof RegistrationDefinition.methods,
    request: object = {},
  ): Promise<Response> {
    return callOnce<Response>(this.#driver.sockets.registration, RegistrationDefinition, method, request);
  }

  /** Stages the volume as the kubelet does: it creates the directory. */
  async stage(
    request: Partial<NodeStageVolumeRequest> & { readonly stagingTargetPath: string },
  ): Promise<void> {
    mkdirSync(request.stagingTargetPath, { recursive: true });
    await this.node('nodeStageVolume', request);
  }

  /** Publishes the volume as the kubelet does: it creates the parent of the target. */
  async publish(request: Partial<NodePublishVolumeRequest> & { readonly targetPath: string }): Promise<void> {
    mkdirSync(dirname(request.targetPath), { recursive: true });
    await this.node('nodePublishVolume', request);
  }
}

/** The gRPC code that the call fails with; `OK` if it does not fail. */
export async function codeOf(call: Promise<unknown>): Promise<Code> {
  try {
    await call;
    return 'OK';
  } catch (err) {
    return status[(err as ServiceError).code] as Code;
  }
}
