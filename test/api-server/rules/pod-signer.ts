// A signer of pod certificates, as clusters run one per signer name; upstream has none for users' signers.
// Upstream: test/e2e/testing-manifests, pkg/controller/certificates/ (signers of kubernetes.io).
import { X509Certificate } from 'node:crypto';
import type { PodCertificateRequest } from '../../../src/api/k8s/types.ts';
import { toPem } from '../../../src/edge/certs/der.ts';
import type { ClusterObjects } from '../objects/cluster-objects.ts';
import { timeText } from '../objects/writes.ts';

type Decision = 'issue' | 'deny' | 'fail' | 'wait';

export interface PodSignerOptions {
  /** Default: `issue`. */
  readonly decide?: (request: PodCertificateRequest) => Decision;
  /** The longest lifetime of a certificate. Default: that of the request. */
  readonly seconds?: number;
}

export interface PodSigner extends PodSignerOptions {
  readonly sign: (csrPem: string, signerName: string, seconds: number) => string;
}

interface PodSignerDeps {
  readonly objects: ClusterObjects;
  readonly signer: PodSigner;
  /** The certificate of the signer's authority. */
  readonly caPem: string;
  readonly now: () => string;
}

const plural = 'podcertificaterequests';
/** How far the test authority may backdate a certificate. */
const backdatedSeconds = 60;

export function handlePodRequest(deps: PodSignerDeps, namespace: string, name: string): void {
  const request = deps.objects.get(plural, namespace, name);
  if (request === undefined || (request.status?.conditions ?? []).length > 0) return;
  const decision = deps.signer.decide?.(request) ?? 'issue';
  if (decision === 'wait') return;
  const status = decision === 'issue' ? issue(deps, request) : {};
  deps.objects.patch(
    plural,
    namespace,
    name,
    { status: { ...status, conditions: [conditionOf(decision, deps.now())] } },
    'status',
  );
}

const conditions = {
  issue: ['Issued', 'Issued', ''],
  deny: ['Denied', 'NotWanted', 'denied by the signer'],
  fail: ['Failed', 'SignerBroken', 'the signer has no key'],
} as const;

function conditionOf(decision: Exclude<Decision, 'wait'>, now: string): object {
  const [type, reason, message] = conditions[decision];
  return { type, status: 'True', reason, message, lastTransitionTime: now };
}

/** The chain has text between its blocks, as openssl prints it. */
function issue({ caPem, signer }: PodSignerDeps, { spec }: PodCertificateRequest): object {
  const csrPem = toPem('CERTIFICATE REQUEST', Buffer.from(spec.stubPKCS10Request, 'base64'));
  const longest = spec.maxExpirationSeconds ?? 0;
  const seconds = Math.min(signer.seconds ?? longest, longest) - backdatedSeconds;
  const leaf = signer.sign(csrPem, spec.signerName, seconds);
  const { validFrom, validTo } = new X509Certificate(leaf);
  const [fromMs, toMs] = [Date.parse(validFrom), Date.parse(validTo)];
  return {
    certificateChain: `subject=\n${leaf}issuer=CN = test-ca\n${caPem.startsWith('-----') ? caPem : ''}`,
    notBefore: timeText(fromMs),
    beginRefreshAt: timeText(fromMs + (toMs - fromMs) / 2),
    notAfter: timeText(toMs),
  };
}
