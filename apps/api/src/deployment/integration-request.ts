import { Text } from '../wire/fields.js';

/** Body of `POST /v1/integrations/git_host`. */
export class CreateIntegrationRequest {
  @Text({ required: true, minLength: 1, maxLength: 128, isUnicode: true, about: 'For people' })
  name: string;

  @Text({
    required: true,
    minLength: 1,
    maxLength: 253,
    pattern: /^([A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?$/,
    patternText: 'String should be a host name, with a port where it is not 443',
    about: 'Of the repositories, as in their URLs; the only host that gets the token',
  })
  host: string;

  @Text({
    required: true,
    minLength: 1,
    maxLength: 4096,
    pattern: /^[\x21-\x7e]+$/,
    patternText: 'String should have visible characters of ASCII only',
    about: 'May read the repositories; it is never shown again',
  })
  token: string;

  @Text({
    minLength: 1,
    maxLength: 128,
    pattern: /^[\x21-\x39\x3b-\x7e]+$/,
    patternText: 'String should have visible characters of ASCII without a colon',
    about: 'User of the token; x-access-token when unset, as most hosts take it',
  })
  username?: string | null;

  @Text({
    minLength: 1,
    maxLength: 8192,
    pattern: /^-----BEGIN CERTIFICATE-----/,
    patternText: 'String should be a certificate in PEM',
    about: 'PEM of a certificate that the host is trusted by, where it has one of its own making',
  })
  ca_certificate?: string | null;
}

/** Body of `PUT /v1/integrations/git_host/{integration_id}/webhook`. */
export class PutWebhookRequest {
  @Text({
    minLength: 16,
    maxLength: 256,
    pattern: /^[\x21-\x7e]+$/,
    patternText: 'String should have visible characters of ASCII only',
    about: 'Secret that the host signs with; generated when unset',
  })
  secret?: string | null;
}
