/**
 * True when a form was sent by a page of this api, according to the browser's headers; clients that are not
 * browsers send none.
 */
export function isOwnForm(headers: Readonly<Record<string, string | undefined>>): boolean {
  const site = headers['sec-fetch-site'];
  if (site !== undefined) return site === 'same-origin' || site === 'none';
  const { origin, host } = headers;
  if (origin === undefined) return true;
  return URL.canParse(origin) && new URL(origin).host === host;
}
