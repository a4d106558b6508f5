// Saves a log as a file. A link cannot send a token: with one, the page reads the log itself, in memory.
import { storedToken } from './log-session.ts';

export function downloadLog(url: string, name: string): void {
  const token = storedToken();
  if (token === undefined) {
    click(url, name);
    return;
  }
  download(url, name, token).catch((err: unknown) => console.error(err));
}

async function download(url: string, name: string, token: string): Promise<void> {
  const response = await fetch(url, { headers: { authorization: `Bearer ${token}` } });
  const object = URL.createObjectURL(await response.blob());
  click(object, name);
  setTimeout(() => URL.revokeObjectURL(object), 60_000);
}

function click(url: string, name: string): void {
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
}
