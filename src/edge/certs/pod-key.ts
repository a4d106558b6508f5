// Generates the keys of pod certificates, and the empty certificate requests that prove their possession.
// Upstream: generateKeyAndProof in pkg/kubelet/podcertificate. Invariants: keys are generated and used in the thread pool, never
// on the event loop; one RSA key at a time, since the pool's few threads also serve files.
import { createPublicKey, generateKeyPair, type KeyObject, sign } from 'node:crypto';
import { promisify } from 'node:util';
import type { GeneratePodKey, PodKey } from '../../api/ports/pod-certificates.ts';
import type { Clock } from '../../base/clock.ts';
import { KubeletError } from '../../base/errors.ts';
import { goQuote } from '../../base/log/log-value.ts';
import { Secret } from '../../base/log/secret.ts';
import { Slots } from '../../base/slots.ts';
import { bits, der, integer, oid, sequence } from './der.ts';

interface KeyKind {
  readonly generate: () => Promise<{ readonly privateKey: KeyObject }>;
  /** Takes seconds. */
  readonly isSlow: boolean;
  /** Of the signature; null if the algorithm has none. */
  readonly digest: 'sha256' | 'sha384' | 'sha512' | null;
  /** AlgorithmIdentifier of the signature. */
  readonly algorithm: Buffer;
}

const generateKeys = promisify(generateKeyPair);

function rsa(modulusLength: number): KeyKind {
  return {
    generate: () => generateKeys('rsa', { modulusLength }),
    isSlow: true,
    digest: 'sha256',
    algorithm: sequence(oid('1.2.840.113549.1.1.11'), der(0x05)),
  };
}

function ecdsa(namedCurve: string, digest: KeyKind['digest'], algorithm: string): KeyKind {
  return {
    generate: () => generateKeys('ec', { namedCurve }),
    isSlow: false,
    digest,
    algorithm: sequence(oid(algorithm)),
  };
}

/** The digests are those that Go chooses for each key. */
const kinds: ReadonlyMap<string, KeyKind> = new Map([
  ['RSA3072', rsa(3072)],
  ['RSA4096', rsa(4096)],
  ['ECDSAP256', ecdsa('P-256', 'sha256', '1.2.840.10045.4.3.2')],
  ['ECDSAP384', ecdsa('P-384', 'sha384', '1.2.840.10045.4.3.3')],
  ['ECDSAP521', ecdsa('P-521', 'sha512', '1.2.840.10045.4.3.4')],
  [
    'ED25519',
    {
      generate: () => generateKeys('ed25519', {}),
      isSlow: false,
      digest: null,
      algorithm: sequence(oid('1.3.101.112')),
    },
  ],
]);

export function podKeys(clock: Clock): GeneratePodKey {
  const slow = new Slots({ clock, count: 1, leaseMs: Number.POSITIVE_INFINITY });
  return async (keyType, signal) => {
    const kind = kinds.get(keyType);
    if (kind === undefined)
      throw new KubeletError('invalid', 'UnknownKeyType', `unknown key type ${goQuote(keyType)}`);
    const slot = kind.isSlow ? await slow.acquire(0, signal) : undefined;
    try {
      return await podKey(kind);
    } finally {
      slot?.release();
    }
  };
}

async function podKey({ algorithm, digest, generate }: KeyKind): Promise<PodKey> {
  const { privateKey } = await generate();
  const info = emptyRequestInfo(privateKey);
  const signature = await signInPool(digest, info, privateKey);
  return {
    key: new Secret(privateKey.export({ type: 'pkcs8', format: 'pem' }) as string),
    request: sequence(info, algorithm, bits(signature)),
  };
}

/** No subject and no attributes: the signer takes them from the PodCertificateRequest. */
function emptyRequestInfo(privateKey: KeyObject): Buffer {
  const publicKey = createPublicKey(privateKey).export({ type: 'spki', format: 'der' });
  return sequence(integer(Buffer.from([0])), sequence(), publicKey, der(0xa0));
}

function signInPool(digest: KeyKind['digest'], data: Buffer, key: KeyObject): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    sign(digest, data, key, (err, signature) => (err === null ? resolve(signature) : reject(err)));
  });
}
