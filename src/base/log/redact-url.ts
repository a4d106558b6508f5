// A URL as it may be shown: in the log, in errors, on /configz and /flagz. User, password and query may be credentials.
export const masked = '<masked>';

/** The text itself when it is a URL without user, password and query. */
export function redactUrl(text: string): string {
  // What is no URL may be one with a typing error in it: only what cannot have a secret part is shown.
  if (!URL.canParse(text) || new URL(text).host === '') return /[@?]/.test(text) ? masked : text;
  const { hash, host, password, pathname, protocol, search, username } = new URL(text);
  if (username === '' && password === '' && search === '') return text;
  const user = username === '' && password === '' ? '' : `${masked}@`;
  const query = search === '' ? '' : `?${masked}`;
  return `${protocol}//${user}${host}${pathname}${query}${hash}`;
}
