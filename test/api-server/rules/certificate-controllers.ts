// Approves and signs kubelets' certificate signing requests, or fails them. Requests of nodes for serving certificates
// are approved too, as in clusters that run an approver for them; upstream has none.
// Upstream: pkg/controller/certificates/{approver,signer}, pkg/apis/certificates/helpers.go.
import type { CertificateSigningRequest } from '../../../src/api/k8s/types.ts';
import type { ClusterObjects } from '../objects/cluster-objects.ts';
import { type RequestContent, readRequest } from '../pki.ts';

export interface CertificateOptions {
  /**
   * Decides a request; `wait` leaves it to another approver. By default and for undefined: the rules of a real cluster.
   */
  readonly decide?: (csr: CertificateSigningRequest) => 'approve' | 'deny' | 'wait' | undefined;
  /** The longest validity of a signed certificate. Default: one year. */
  readonly seconds?: number;
}

interface CertificateControllersDeps {
  readonly objects: ClusterObjects;
  readonly sign: (csrPem: string, signerName: string, seconds: number) => string;
  readonly options: CertificateOptions;
  readonly now: () => string;
}

const plural = 'certificatesigningrequests';
const clientSigner = 'kubernetes.io/kube-apiserver-client-kubelet';
const servingSigner = 'kubernetes.io/kubelet-serving';
const yearSeconds = 365 * 24 * 3600;

/** Takes one step; its write triggers the next one, until the request is done. */
export function handleRequest(deps: CertificateControllersDeps, name: string): void {
  const { objects } = deps;
  const csr = objects.get(plural, '', name);
  if (csr === undefined || ![clientSigner, servingSigner].includes(csr.spec.signerName)) return;
  const types = (csr.status?.conditions ?? []).map(({ type }) => type);
  if (types.length === 0) decideOn(deps, csr);
  else if (types.includes('Approved') && !types.includes('Failed') && (csr.status?.certificate ?? '') === '')
    signOrFail(deps, csr);
}

function decideOn(deps: CertificateControllersDeps, csr: CertificateSigningRequest): void {
  const decision = deps.options.decide?.(csr) ?? (isAutomatic(csr) ? 'approve' : 'wait');
  if (decision === 'wait') return;
  if (decision === 'deny') addCondition(deps, csr, 'Denied', 'NotWanted', 'denied by the double');
  else addCondition(deps, csr, 'Approved', 'AutoApproved', approvalMessage(csr));
}

function approvalMessage({ spec }: CertificateSigningRequest): string {
  const self = spec.username?.startsWith('system:node:') === true ? 'self ' : '';
  return `Auto approving ${self}kubelet client certificate after SubjectAccessReview.`;
}

/** Bootstrappers get the certificate of any node, nodes only their own. */
function isAutomatic({ spec }: CertificateSigningRequest): boolean {
  const request = contentOf(spec.request);
  if (request === undefined || signerRejection(spec, request) !== undefined) return false;
  const groups = spec.groups ?? [];
  const isOwn = groups.includes('system:nodes') && spec.username === request.commonName;
  return isOwn || (spec.signerName === clientSigner && groups.includes('system:bootstrappers'));
}

function signOrFail(deps: CertificateControllersDeps, csr: CertificateSigningRequest): void {
  const { objects, options, sign } = deps;
  const { expirationSeconds, request, signerName } = csr.spec;
  const content = contentOf(request);
  const why = content === undefined ? 'the request cannot be parsed' : signerRejection(csr.spec, content);
  if (why !== undefined) {
    addCondition(deps, csr, 'Failed', 'SignerValidationFailure', why);
    return;
  }
  const longest = options.seconds ?? yearSeconds;
  const pem = sign(pemOf(request), signerName, Math.min(longest, expirationSeconds ?? longest));
  const status = { certificate: Buffer.from(pem).toString('base64') };
  objects.patch(plural, '', csr.metadata?.name ?? '', { status }, 'status');
}

function addCondition(
  { now, objects }: CertificateControllersDeps,
  csr: CertificateSigningRequest,
  type: string,
  reason: string,
  message: string,
): void {
  const at = { lastUpdateTime: now(), lastTransitionTime: now() };
  const conditions = [...(csr.status?.conditions ?? []), { type, status: 'True', reason, message, ...at }];
  objects.patch(plural, '', csr.metadata?.name ?? '', { status: { conditions } }, 'status');
}

type Spec = CertificateSigningRequest['spec'];

/** The rules of the signers. Undefined if the request conforms. */
function signerRejection({ signerName, usages = [] }: Spec, request: RequestContent): string | undefined {
  const { commonName, hasNames, organizations } = request;
  const serving = signerName === servingSigner;
  if (organizations.join() !== 'system:nodes') return 'subject organization is not system:nodes';
  if (!commonName.startsWith('system:node:')) return 'subject common name does not begin with system:node:';
  if (serving && !hasNames) return 'DNS or IP subjectAltName is required';
  if (!serving && hasNames) return 'DNS subjectAltNames are not allowed';
  const wanted = ['digital signature', serving ? 'server auth' : 'client auth'];
  const others = usages.filter((each) => each !== 'key encipherment').toSorted();
  return others.join() === wanted.toSorted().join() ? undefined : 'usages did not match';
}

function pemOf(base64: string): string {
  return Buffer.from(base64, 'base64').toString('utf8');
}

function contentOf(base64: string): RequestContent | undefined {
  try {
    return readRequest(pemOf(base64));
  } catch {
    // Not a certificate request.
    return undefined;
  }
}
