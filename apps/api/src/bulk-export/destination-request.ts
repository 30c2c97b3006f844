import { Choice, Flag, Nested, Text } from '../wire/fields.js';
import { QueryFlag } from '../wire/query-flag.js';

const BUCKET = /^[A-Za-z0-9][A-Za-z0-9._-]*$/;
// the resource has the same pattern; its other rules refuse the prefixes that no character class can describe
const PREFIX = /^[^\x00-\x1F\x7F-\x9F"<>\\^\x60{|}]*$/;
const REGION = /^[A-Za-z0-9_-]*$/;
const ENDPOINT = /^https?:\/\/[^/?#@ ]+(\/[^?# ]*)?$/;

const ENCRYPTIONS = ['AES256', 'aws:kms', 'aws:kms:dsse'] as const;
const ACLS = ['private', 'bucket-owner-read', 'bucket-owner-full-control'] as const;
type Encryption = (typeof ENCRYPTIONS)[number];
type Acl = (typeof ACLS)[number];

const KEY_ID = {
  minLength: 1,
  maxLength: 2048,
  pattern: /^[!-~]+$/,
  patternText: 'String should be the id, ARN or alias of a key',
};
const STORAGE_CLASS = {
  minLength: 1,
  maxLength: 64,
  pattern: /^[A-Za-z0-9_-]+$/,
  patternText: 'String should be the name of a storage class',
};

/** The same as four fields of the config, in the words of the S3 client. */
export class S3ArgumentsRequest {
  @Choice(ENCRYPTIONS, { about: 'As server_side_encryption' })
  ServerSideEncryption?: Encryption | null;

  @Text({ ...KEY_ID, about: 'As kms_key_id' })
  SSEKMSKeyId?: string | null;

  @Text({ ...STORAGE_CLASS, about: 'As storage_class' })
  StorageClass?: string | null;

  @Choice(ACLS, { about: 'As acl' })
  ACL?: Acl | null;
}

const ADDRESSING = ['auto', 'virtual', 'path'] as const;

/** Settings of the S3 client. */
export class S3ConfigRequest {
  @Choice(ADDRESSING, {
    about:
      'virtual: the bucket is put into the host of endpoint_url, with include_bucket_in_prefix false, and answered so; path: it is in the path, not for AWS itself; auto: as include_bucket_in_prefix says',
  })
  addressing_style?: (typeof ADDRESSING)[number] | null;
}

const ROLE = 'Refused: no role is assumed here; give credentials';

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
    about: 'Root of all keys inside the bucket; short, since keys have 1,024 bytes at most',
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

  @Choice(ENCRYPTIONS, { about: 'Encryption that objects are written with; absent: that of the bucket' })
  server_side_encryption?: Encryption | null;

  @Text({ ...KEY_ID, about: 'For aws:kms and aws:kms:dsse; absent: the default key of the account' })
  kms_key_id?: string | null;

  @Text({
    ...STORAGE_CLASS,
    about: 'Storage class of objects, in the word of the store; absent: its default',
  })
  storage_class?: string | null;

  @Choice(ACLS, { about: 'Canned ACL of objects; absent: none is sent' })
  acl?: Acl | null;

  @Nested(() => S3ArgumentsRequest, {
    about: 'server_side_encryption, kms_key_id, storage_class and acl in the words of the S3 client',
    isStrict: true,
  })
  s3_additional_kwargs?: S3ArgumentsRequest | null;

  @Nested(() => S3ConfigRequest, { about: 'How buckets are addressed', isStrict: true })
  config_kwargs_s3?: S3ConfigRequest | null;

  @Text({ maxLength: 2048, about: ROLE })
  aws_role_arn?: string | null;
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
  @Choice(['object_store'], { about: 'Answered as it is given; s3 when absent' })
  destination_type?: 'object_store' | null;

  @Text({ required: true, maxLength: 256, isUnicode: true, about: 'For people' })
  display_name: string;

  @Nested(() => DestinationConfigRequest, { required: true })
  config: DestinationConfigRequest;

  @Nested(() => DestinationCredentialsRequest, {
    about: 'Absent: those of the platform, where the Workspace allows it (spec.allowEnvironmentCredentials)',
  })
  credentials?: DestinationCredentialsRequest | null;

  @Text({ maxLength: 2048, about: ROLE })
  aws_role_arn?: string | null;
}

/** Query of `DELETE /api/v1/bulk-exports/destinations/{id}`. */
export class DeleteDestinationQuery {
  @QueryFlag({ about: 'With true it is deleted although exports use it, which fail' })
  force?: boolean;
}

/**
 * Body of `PATCH /api/v1/bulk-exports/destinations/{id}`; the target of the destination cannot be changed.
 */
export class PatchDestinationRequest {
  @Text({ minLength: 1, maxLength: 256, isUnicode: true, about: 'For people' })
  display_name?: string | null;

  @Nested(() => DestinationCredentialsRequest, {
    about: 'New ones, which are tested first. Exports under way go on with those that they began with',
  })
  credentials?: DestinationCredentialsRequest | null;

  @Text({ maxLength: 2048, about: ROLE })
  aws_role_arn?: string | null;
}
