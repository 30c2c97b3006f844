import type { PublicError } from '#lib/errors';
import type { DestinationConfig } from '#lib/resources';
import { Choice, Flag, Nested, Text } from '../wire/fields.js';
import { QueryFlag } from '../wire/query-flag.js';
import { wrongField } from '../wire/request-pipe.js';

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
class S3ArgumentsRequest {
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
class S3ConfigRequest {
  @Choice(ADDRESSING, {
    about:
      'virtual: the bucket is put into the host of endpoint_url, with include_bucket_in_prefix false, and answered so; path: it is in the path, not for AWS itself; auto: as include_bucket_in_prefix says',
  })
  addressing_style?: (typeof ADDRESSING)[number] | null;
}

const ROLE = {
  maxLength: 640,
  pattern: /^arn:aws[a-z-]*:iam::[0-9]{12}:role\/[A-Za-z0-9+=,.@_/-]+$/,
  patternText: 'String should be the ARN of a role',
  about:
    'Role of AWS that the credentials of the platform assume, with the id of the workspace as external id; in place of credentials, where the Workspace allows those of the platform (spec.allowEnvironmentCredentials)',
};

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
    maxLength: 2048,
    pattern: PREFIX,
    patternText: 'String should have no control characters and none of " < > \\ ^ ` { | }',
    isUnicode: true,
    about: 'Root of all keys inside the bucket; at most 800 bytes, since keys have 1,024 at most',
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

  @Text(ROLE)
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

  @Text({ ...ROLE, about: 'As in config' })
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

  @Text({ ...ROLE, about: 'Assumed from now on; the credentials are deleted once no export needs them' })
  aws_role_arn?: string | null;
}

/**
 * The role of a request, which may name it in two places.
 * @throws PublicError invalid for two roles, and beside credentials
 */
export function roleOf({
  aws_role_arn: role,
  config,
  credentials,
}: Partial<Pick<CreateDestinationRequest, 'aws_role_arn' | 'config' | 'credentials'>>): string | undefined {
  const loc = ['body', 'aws_role_arn'];
  const ofConfig = config?.aws_role_arn;
  if (role && ofConfig && role !== ofConfig) throw wrongField(loc, 'config.aws_role_arn is another role');
  const named = role ?? ofConfig ?? undefined;
  if (named && credentials) throw wrongField(loc, 'Give either credentials or aws_role_arn');
  return named;
}

type Address = Pick<DestinationConfig, 'includeBucketInPrefix' | 'endpointUrl'>;

/**
 * Where a bucket is addressed: by its path, or by its host, which the style `virtual` puts it into.
 * @throws PublicError invalid when the style contradicts another field
 */
export function addressOf(wire: DestinationConfigRequest): Address {
  const { bucket_name: bucket, include_bucket_in_prefix: isInPath } = wire;
  const style = wire.config_kwargs_s3?.addressing_style ?? 'auto';
  const endpointUrl = wire.endpoint_url ?? undefined;
  const refused = (msg: string): PublicError => {
    const loc = ['body', 'config', 'config_kwargs_s3', 'addressing_style'];
    return wrongField(loc, msg);
  };
  if (style === 'path' && endpointUrl === undefined)
    throw refused('Buckets of AWS itself are in the host name: leave it out, or give endpoint_url');
  if (style !== 'auto' && typeof isInPath === 'boolean' && isInPath !== (style === 'path'))
    throw refused('include_bucket_in_prefix says the opposite: give one of them');
  if (style !== 'virtual' || endpointUrl === undefined)
    return { includeBucketInPrefix: isInPath ?? true, endpointUrl };
  const [scheme = '', rest = ''] = endpointUrl.split('://');
  const isNamed = isInPath === false || rest.startsWith(`${bucket}.`);
  return {
    includeBucketInPrefix: false,
    endpointUrl: isNamed ? endpointUrl : `${scheme}://${bucket}.${rest}`,
  };
}
