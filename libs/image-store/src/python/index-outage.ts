/** A certificate that is not trusted stays so at the next attempt. */
const CERTIFICATE =
  /certificate verify failed|CertificateVerif|invalid peer certificate|SSLCertVerificationError/i;

/** Messages of pip and uv when the index does not answer. */
const OUTAGES: readonly (readonly [RegExp, string])[] = [
  [
    /Temporary failure in name resolution|NameResolutionError|failed to lookup address|Name or service not known/i,
    'its name is not found',
  ],
  [/Connection refused/i, 'connection refused'],
  [/Connection reset|Connection aborted|RemoteDisconnected|IncompleteRead/i, 'connection broken'],
  [/ConnectTimeoutError|ReadTimeoutError|Read timed out|operation timed out/i, 'timeout'],
  [/ProxyError|Cannot connect to proxy/i, 'the proxy refuses'],
  [
    /\b(?:HTTP error|status code|HTTPError:|client error:|server error:|too many)[^\n]{0,40}\b(429|5\d\d)\b/i,
    'HTTP 429 or 5xx',
  ],
  [/Failed to establish a new connection|error sending request for url/i, 'no connection'],
];

/**
 * Reason why pip or uv could not reach the index, by their output; undefined when another attempt cannot
 * help: a package that does not exist, a hash that differs, a build that failed, a certificate that is not
 * trusted.
 */
export function indexOutage(output: string): string | undefined {
  if (CERTIFICATE.test(output)) return undefined;
  return OUTAGES.find(([pattern]) => pattern.test(output))?.[1];
}
