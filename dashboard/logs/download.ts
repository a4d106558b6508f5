// Saves a log as a file. A link cannot send a token: with one, the page reads the log itself, in memory.
import { storedToken } from './log-session.ts';

export function downloadLog(url: string, name: string): void {
  const token = storedToken();
  if (token === undefined) {
    click(url, name);
    return;
  }
  readBlob(url, token)
    .then((blob) => {
      const object = URL.createObjectURL(blob);
      click(object, name);
      setTimeout(() => URL.revokeObjectURL(object), 60_000);
    })
    .catch((err: unknown) => console.error(err));
}

async function readBlob(url: string, token: string): Promise<Blob> {
  const response = await fetch(url, { headers: { authorization: `Bearer ${token}` } });
  return response.blob();
}

function click(url: string, name: string): void {
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
}
