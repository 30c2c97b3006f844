/** Meanings of codes of the network, of TLS or of HTTP, for the author of the endpoint. */
const CAUSES: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'the connection was refused; check host and port',
  ECONNRESET:
    'the connection was reset before an answer; check the port, and whether it speaks http or https',
  EPIPE: 'the connection was closed before an answer; check the port, and whether it speaks http or https',
  EHOSTUNREACH: 'the host cannot be reached from here',
  ENETUNREACH: 'the network of the host cannot be reached from here',
  ENOTFOUND: 'the name of the host does not resolve',
  EAI_AGAIN: 'the name of the host could not be resolved now; the name server did not answer',
  ETIMEDOUT: 'no answer in time',
  ServiceUnavailable: 'it reports that it is busy or down',
  SlowDown: 'it reports that it is busy',
  InternalError: 'it reports an error of its own',
  NotAnObjectStore: 'it answers, but not as an object store does',
  NothingStored: 'it accepted an object, and does not have it afterwards',
  EPROTO: 'it does not speak TLS; check whether it is http instead of https',
  ERR_SSL_WRONG_VERSION_NUMBER: 'it speaks plain http, and endpoint_url says https',
  ERR_SSL_PACKET_LENGTH_TOO_LONG: 'it speaks plain http, and endpoint_url says https',
  HPE_INVALID_CONSTANT: 'it does not answer in HTTP; check whether it is https instead of http',
  CERT_HAS_EXPIRED: 'its certificate has expired',
  CERT_NOT_YET_VALID: 'its certificate is not valid yet; check the clocks',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another name',
};

/** Certificates whose authority is not trusted here; making it known is the operator's part. */
const UNTRUSTED: Readonly<Record<string, string>> = {
  DEPTH_ZERO_SELF_SIGNED_CERT: 'its certificate is self-signed',
  SELF_SIGNED_CERT_IN_CHAIN: 'its certificate is of an authority that is not trusted here',
  // an authority of that name is trusted, with another key: it was made anew
  CERT_SIGNATURE_FAILURE: 'its certificate is of another authority than the trusted one of that name',
  UNABLE_TO_GET_ISSUER_CERT: 'its certificate is of an authority that is not trusted here',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'its certificate is of an authority that is not trusted here',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'its certificate is of an authority that is not trusted here',
};
const TRUST = 'start the platform with NODE_EXTRA_CA_CERTS=FILE, the certificate of its authority';

/** Reason why an endpoint cannot be used, for people. */
export function endpointCause(code: string): string {
  const untrusted = Object.hasOwn(UNTRUSTED, code) ? UNTRUSTED[code] : undefined;
  if (untrusted !== undefined) return `${untrusted} (${code}); ${TRUST}`;
  const cause = Object.hasOwn(CAUSES, code) ? CAUSES[code] : undefined;
  return `${cause ?? 'it does not answer as an object store does'} (${code})`;
}
