// Judges the container runtime: its socket, its answers, its conditions, and the image of sandboxes. Pure.
import type { DoctorSettings, HostFacts, RuntimeStatusFacts, SocketFacts } from './facts.ts';
import { type Fact, type Finding, fail, ok, warn } from './finding.ts';

type Endpoint = Pick<DoctorSettings, 'runtimeEndpoint'>;

const seeReady = 'see runtime-ready';
const start = 'start the runtime, such as systemctl start containerd, or set containerRuntimeEndpoint';

export function judgeSocket(socket: Fact<SocketFacts>, { runtimeEndpoint }: Endpoint): Finding {
  if (!socket.isKnown) return fail(`${runtimeEndpoint}: ${socket.why}`, start);
  const findings: Readonly<Record<SocketFacts['state'], Finding>> = {
    open: ok(runtimeEndpoint),
    missing: fail(`${runtimeEndpoint} does not exist`, start),
    refused: fail(`${runtimeEndpoint} refuses connections: no program listens on it`, start),
    'no-socket': fail(
      `${runtimeEndpoint} is not a socket`,
      'set containerRuntimeEndpoint to the socket of the runtime',
    ),
    forbidden: warn(`${runtimeEndpoint} may not be opened by this user`, 'run as root'),
  };
  return findings[socket.value.state];
}

export function judgeVersion(version: Fact<HostFacts['runtimeVersion']>, socket: Fact<SocketFacts>): Finding {
  if (version.isKnown) return ok(`${version.value.name} ${version.value.version}`);
  if (socket.isKnown && socket.value.state === 'forbidden')
    return warn('not known: the socket may not be opened by this user', 'run as root');
  return fail(
    `the runtime does not answer: ${version.why}`,
    'read its log, such as journalctl -u containerd; if CRI is disabled in its configuration (disabled_plugins), enable it; restart it',
  );
}

/** A runtime that does not answer is one failure, not one of every check that asks it. */
export function judgeAnswering(version: Fact<HostFacts['runtimeVersion']>, judge: () => Finding): Finding {
  return version.isKnown ? judge() : warn('not known: the runtime does not answer', 'see runtime-version');
}

function condition(status: RuntimeStatusFacts, type: string): RuntimeStatusFacts['conditions'][number] {
  const found = status.conditions.find((each) => each.type === type);
  return found ?? { type, status: false, reason: 'NotReported', message: 'the runtime does not report it' };
}

export function judgeReady(status: Fact<RuntimeStatusFacts>): Finding {
  if (!status.isKnown)
    return fail(
      `the runtime does not report its status: ${status.why}`,
      'restart the runtime and read its log',
    );
  const { message, reason, status: isReady } = condition(status.value, 'RuntimeReady');
  return isReady
    ? ok('RuntimeReady')
    : fail(
        `RuntimeReady is false: ${reason} ${message}`.trim(),
        'read the log of the runtime, such as journalctl -u containerd',
      );
}

/** The network of a node that joins a cluster often comes from a DaemonSet, after the kubelet has started. */
export function judgeNetwork(status: Fact<RuntimeStatusFacts>, isStandalone: boolean): Finding {
  if (!status.isKnown) return warn(`not known: ${status.why}`, seeReady);
  const { cniBinDir = '/opt/cni/bin', cniConfDir = '/etc/cni/net.d' } = status.value;
  const { message, reason, status: isReady } = condition(status.value, 'NetworkReady');
  if (isReady) return ok('NetworkReady');
  const finding = `NetworkReady is false: ${reason} ${message}`.trim();
  const install = `install a network plugin: its configuration in ${cniConfDir}, its programs in ${cniBinDir}`;
  return isStandalone
    ? fail(finding, install)
    : warn(
        finding,
        `${install}; before the node has joined this is normal if a DaemonSet of the cluster installs it`,
      );
}

export function judgeSandboxImage(
  status: Fact<RuntimeStatusFacts>,
  hasImage: Fact<boolean | undefined>,
): Finding {
  if (!status.isKnown) return warn(`not known: ${status.why}`, seeReady);
  const { sandboxImage: image } = status.value;
  if (image === undefined) return ok('the runtime does not name it');
  if (image === '')
    return fail(
      'the runtime has no sandbox image',
      'set it in the runtime (containerd: sandbox_image, or pinned_images.sandbox)',
    );
  if (!hasImage.isKnown) return warn(`${image}: ${hasImage.why}`, `crictl inspecti ${image}`);
  return hasImage.value === true
    ? ok(image)
    : warn(`${image} is not on the node, so the first pod has to pull it`, `crictl pull ${image}`);
}
