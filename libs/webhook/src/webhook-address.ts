/**
 * A URL that a webhook can have, without its fragment. The addresses of its host are judged elsewhere.
 * @param headers alternative to a user name in the URL, as the end of a sentence
 * @returns a text with the reason for one that it cannot have
 */
export function parseWebhookUrl(given: string, headers: string): URL | string {
  if (!URL.canParse(given)) return 'it is not an absolute URL';
  const url = new URL(given);
  if (!/^https?:$/.test(url.protocol)) return 'only http and https URLs can be called';
  if (url.username !== '' || url.password !== '') return `it holds a user name or a password; ${headers}`;
  url.hash = '';
  return url;
}
