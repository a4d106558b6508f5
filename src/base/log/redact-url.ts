// Redacts URLs for logs, errors, /configz and /flagz: user, password and query may be credentials.
export const masked = '<masked>';

/** Returns the text unchanged if it is a URL without user, password and query. */
export function redactUrl(text: string): string {
  // Invalid text may be a URL with a typo: it is shown only if it cannot contain a secret part.
  if (!URL.canParse(text) || new URL(text).host === '') return /[@?]/.test(text) ? masked : text;
  const { hash, host, password, pathname, protocol, search, username } = new URL(text);
  if (username === '' && password === '' && search === '') return text;
  const user = username === '' && password === '' ? '' : `${masked}@`;
  const query = search === '' ? '' : `?${masked}`;
  return `${protocol}//${user}${host}${pathname}${query}${hash}`;
}
