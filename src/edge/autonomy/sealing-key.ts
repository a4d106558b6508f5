// Encrypts records with a key of this node and machine: AES-256-GCM under a key that HKDF derives from a random file, the machine ID
// and the node name. Invariants: the random part never leaves its file; a copy of the directory is useless on another node.
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';
import type { Sealer } from './envelope.ts';

const cipher = 'aes-256-gcm';
const keyBytes = 32;
const ivBytes = 12;
const tagBytes = 16;

/** The content of a new key file. */
export function newKeyText(): string {
  return `${randomBytes(keyBytes).toString('hex')}\n`;
}

export function isKeyText(text: string): boolean {
  return /^[0-9a-f]{64}\n$/.test(text);
}

export function sealerOf(
  keyText: string,
  { machineId, nodeName }: { readonly machineId: string; readonly nodeName: string },
): Sealer {
  const secret = Buffer.from(keyText.trim(), 'hex');
  const key = new Uint8Array(
    hkdfSync('sha256', secret, machineId, `kubelet autonomy v1 ${nodeName}`, keyBytes),
  );
  return {
    seal: (text, bound) => {
      const iv = randomBytes(ivBytes);
      const encrypt = createCipheriv(cipher, key, iv).setAAD(Buffer.from(bound));
      const data = Buffer.concat([encrypt.update(text, 'utf8'), encrypt.final()]);
      return Buffer.concat([iv, encrypt.getAuthTag(), data]).toString('base64');
    },
    open: (sealed, bound) => {
      const bytes = Buffer.from(sealed, 'base64');
      if (bytes.length < ivBytes + tagBytes) throw new Error('it is truncated');
      const decrypt = createDecipheriv(cipher, key, bytes.subarray(0, ivBytes), { authTagLength: tagBytes })
        .setAAD(Buffer.from(bound))
        .setAuthTag(bytes.subarray(ivBytes, ivBytes + tagBytes));
      try {
        const text = decrypt.update(bytes.subarray(ivBytes + tagBytes));
        return Buffer.concat([text, decrypt.final()]).toString('utf8');
      } catch (cause) {
        throw new Error("it does not decrypt with this node's key", { cause });
      }
    },
  };
}
