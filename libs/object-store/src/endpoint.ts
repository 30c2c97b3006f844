import { EndpointRefusedError } from './object-store-error.js';

/** An address in the form that the client takes. */
export interface Endpoint {
  /**
   * Host without brackets; the URL parser has brought decimal, octal and hexadecimal forms into the usual
   * one.
   */
  readonly host: string;
  readonly port: number | undefined;
  readonly isTls: boolean;
}

/** @throws EndpointRefusedError */
export function parseEndpoint(text: string): Endpoint {
  const invalid = (why: string): EndpointRefusedError => new EndpointRefusedError('InvalidEndpoint', why);
  if (!URL.canParse(text)) throw invalid('it is not a URL');
  const url = new URL(text);
  if (url.protocol !== 'https:' && url.protocol !== 'http:') throw invalid('it is not an http or https URL');
  if (url.username !== '' || url.password !== '') throw invalid('it must not contain credentials');
  if (url.pathname !== '/' || url.search !== '' || url.hash !== '') throw invalid('it must not have a path');
  return {
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: url.port === '' ? undefined : Number(url.port),
    isTls: url.protocol === 'https:',
  };
}
