// Which key exchange mechanisms the OpenSSL of this process has.
import { createSecureContext } from 'node:tls';

/** `name`: in OpenSSL's notation. */
export function hasTlsGroup(name: string): boolean {
  try {
    createSecureContext({ ecdhCurve: name });
    return true;
  } catch {
    // The failure stays in OpenSSL's queue, where the next key that this thread reads would find it; a context clears it.
    createSecureContext();
    return false;
  }
}
