import { Choice, Flag, Nested, Text } from '../wire/fields.js';

const BUCKET = /^[A-Za-z0-9][A-Za-z0-9._-]*$/;
// as that of the resource, whose other rules refuse what no class of characters can
const PREFIX = /^[^\x00-\x1F\x7F-\x9F"<>\\^\x60{|}]*$/;
const REGION = /^[A-Za-z0-9_-]*$/;
const ENDPOINT = /^https?:\/\/[^/?#@ ]+(\/[^?# ]*)?$/;

export class DestinationConfigRequest {
  @Text({
    required: true,
    minLength: 3,
    maxLength: 63,
    pattern: BUCKET,
    patternText: 'String should be the name of a bucket',
  })
  bucket_name: string;

  @Text({
    maxLength: 512,
    pattern: PREFIX,
    patternText: 'String should have no control characters and none of " < > \\ ^ ` { | }',
    isUnicode: true,
    about: 'Root of all keys inside the bucket',
  })
  prefix?: string | null;

  @Text({
    maxLength: 64,
    pattern: REGION,
    patternText: 'String should consist of letters, digits, - and _',
    about: 'Needed for AWS-style buckets',
  })
  region?: string | null;

  @Text({
    maxLength: 2048,
    pattern: ENDPOINT,
    patternText: 'Input should be a valid URL without user, query or fragment',
    about: 'Needed for other stores; omit for AWS-style buckets',
  })
  endpoint_url?: string | null;

  @Flag({ about: 'False when the host of endpoint_url already names the bucket; default true' })
  include_bucket_in_prefix?: boolean | null;
}

export class DestinationCredentialsRequest {
  @Text({ required: true, minLength: 1, maxLength: 255 })
  access_key_id: string;

  @Text({ required: true, minLength: 1, maxLength: 2048 })
  secret_access_key: string;

  @Text({ minLength: 1, maxLength: 8192 })
  session_token?: string | null;
}

/** Body of `POST /api/v1/bulk-exports/destinations`. */
export class CreateDestinationRequest {
  @Choice(['object_store'], { required: true })
  destination_type: 'object_store';

  @Text({ required: true, maxLength: 256, isUnicode: true, about: 'For people' })
  display_name: string;

  @Nested(() => DestinationConfigRequest, { required: true })
  config: DestinationConfigRequest;

  @Nested(() => DestinationCredentialsRequest, {
    about: 'Absent: those of the platform, where the Workspace allows it (spec.allowEnvironmentCredentials)',
  })
  credentials?: DestinationCredentialsRequest | null;
}

/** Body of `PATCH /api/v1/bulk-exports/destinations/{id}`; what it writes to cannot be changed. */
export class PatchDestinationRequest {
  @Text({ minLength: 1, maxLength: 256, isUnicode: true, about: 'For people' })
  display_name?: string | null;

  @Nested(() => DestinationCredentialsRequest, {
    about: 'New ones, which are tested first. Exports under way go on with those that they began with',
  })
  credentials?: DestinationCredentialsRequest | null;
}
