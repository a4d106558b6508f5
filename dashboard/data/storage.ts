// The browser's storage. A browser that forbids it throws; then the page works without remembering.

type Kind = 'local' | 'session';

const fallback = new Map<string, string>();

export function readStored(kind: Kind, key: string): string | undefined {
  try {
    return storageOf(kind).getItem(key) ?? undefined;
  } catch {
    return fallback.get(key);
  }
}

/** Undefined removes it. */
export function writeStored(kind: Kind, key: string, value: string | undefined): void {
  try {
    if (value === undefined) storageOf(kind).removeItem(key);
    else storageOf(kind).setItem(key, value);
  } catch {
    if (value === undefined) fallback.delete(key);
    else fallback.set(key, value);
  }
}

function storageOf(kind: Kind): Storage {
  return kind === 'local' ? localStorage : sessionStorage;
}
