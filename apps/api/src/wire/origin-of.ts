/** Names and addresses with a port, and nothing that could end the host of a URL. */
const HOST = /^(?:[\w.-]{1,255}|\[[\da-f:.]{2,45}\])(?::\d{1,5})?$/i;

/**
 * The beginning of addresses that lead to the api.
 * @param publicUrl of the settings, if they have one
 * @param host that the caller asked
 * @returns '' for a host that can be none: paths remain, which clients complete
 */
export function originOf(publicUrl: string | undefined, host: string | undefined): string {
  if (publicUrl !== undefined) return publicUrl.replace(/\/+$/, '');
  return host !== undefined && HOST.test(host) ? `http://${host}` : '';
}
