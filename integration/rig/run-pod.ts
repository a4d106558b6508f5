// Runs a pod with one container by CRI calls, without a kubelet.
import { join } from 'node:path';
import type { Rig } from './rig.ts';

interface RunPodOptions {
  readonly image?: string;
  readonly command?: readonly string[];
  /** Forwarded to port 80 of the pod. */
  readonly hostPort?: number;
}

interface RunningPod {
  readonly podSandboxId: string;
  readonly containerId: string;
}

/** RunPodSandbox, CreateContainer, StartContainer. */
export async function runPod(rig: Rig, name: string, options: RunPodOptions = {}): Promise<RunningPod> {
  const sandboxConfig = {
    metadata: { name, namespace: 'default', uid: `uid-${name}`, attempt: 0 },
    hostname: name,
    logDirectory: join(rig.workspace.dir, 'logs', name),
    portMappings:
      options.hostPort === undefined
        ? []
        : [{ containerPort: 80, hostPort: options.hostPort, hostIp: '127.0.0.1' }],
    linux: { cgroupParent: `${rig.cgroupParent}/${name}` },
  };
  const { podSandboxId } = await rig.cri.runPodSandbox({ config: sandboxConfig });
  const { containerId } = await rig.cri.createContainer({
    podSandboxId,
    sandboxConfig,
    config: {
      metadata: { name: 'main', attempt: 0 },
      image: { image: options.image ?? rig.images.busybox },
      command: options.command ?? ['sleep', '2147483647'],
      logPath: 'main/0.log',
      linux: {},
    },
  });
  await rig.cri.startContainer({ containerId });
  return { podSandboxId, containerId };
}
