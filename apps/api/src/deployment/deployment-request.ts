import { Choice, Flag, Nested, NestedList, Text, TextList, Uuid, Whole } from '../wire/fields.js';
import { DNS_LABEL, ResourceSpecRequest, SUBDOMAIN } from './resource-spec-request.js';
import { Transform } from 'class-transformer';
import { PageQuery, QueryFlag } from '../wire/query-flag.js';
import { REVISION_STATUSES } from './deployment-answer.js';
import { bothWords } from '../wire/vocabulary.js';

const SOURCES = ['git_host', 'external_image', 'internal_image', 'internal_source'] as const;
const URL_LIKE = /^https?:\/\/[^ ]+$/;
/** The pattern of `imageUri` of the custom resource. */
const IMAGE_REFERENCE = /^[A-Za-z0-9][A-Za-z0-9._:/@+-]*$/;
/** Names that Kubernetes allows as a key of a Secret and a shell as a variable. */
const SECRET_NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;

class NamedSecretRequest {
  @Text({
    required: true,
    minLength: 1,
    maxLength: 253,
    pattern: SECRET_NAME,
    patternText: 'String should be the name of an environment variable',
  })
  name: string;
}

/** A variable with its value. */
export class SecretRequest extends NamedSecretRequest {
  @Text({
    maxLength: 524_288,
    isUnicode: true,
    about: 'A change without it keeps the value that the secret has',
  })
  value?: string | null;
}

/** A variable with a value from a Secret that is in the namespace already. */
export class SecretReferenceRequest extends NamedSecretRequest {
  @Text({ ...SUBDOMAIN, required: true, minLength: 1, about: 'Secret in the namespace of the pods' })
  secret_name: string;

  @Text({
    required: true,
    minLength: 1,
    maxLength: 253,
    pattern: /^[-._a-zA-Z0-9]+$/,
    patternText: 'String should be a key of a Secret',
  })
  secret_key: string;
}

export class ListenerConfigRequest {
  @Text({
    maxLength: 63,
    pattern: DNS_LABEL,
    patternText: 'String should be a DNS label',
    about:
      'Namespace to deploy into: one of those of a remote listener; for other listeners that of the workspace; immutable',
  })
  cluster_namespace?: string | null;
}

export class SourceConfigRequest {
  @Uuid({ about: 'Git integration; immutable; git_host only' })
  integration_id?: string | null;

  @Text({ minLength: 1, maxLength: 2048, about: 'Git repository; immutable; git_host only' })
  repo_url?: string | null;

  @Choice(['dev_free', 'dev', 'prod'], {
    about: 'Immutable; size of a deployment from git without a resource_spec, without effect elsewhere',
  })
  deployment_type?: 'dev_free' | 'dev' | 'prod' | null;

  @Flag({ about: 'Build a revision on each push; not for tags; git_host only' })
  build_on_push?: boolean | null;

  @Text({
    maxLength: 2048,
    pattern: URL_LIKE,
    patternText: 'Input should be a valid URL',
    about: 'external_image only',
  })
  custom_url?: string | null;

  @Nested(() => ResourceSpecRequest, { about: 'Makes a new revision' })
  resource_spec?: ResourceSpecRequest | null;

  @Uuid({ about: 'Listener; immutable; external_image only' })
  listener_id?: string | null;

  @Nested(() => ListenerConfigRequest)
  listener_config?: ListenerConfigRequest | null;

  @Text({ maxLength: 4096 })
  install_command?: string | null;

  @Text({ maxLength: 4096 })
  build_command?: string | null;
}

export class SourceRevisionConfigRequest {
  @Text({ minLength: 1, maxLength: 1024, about: 'Branch, or tag as refs/tags/NAME; git_host only' })
  repo_ref?: string | null;

  @Text({
    minLength: 1,
    maxLength: 1024,
    about: 'Path of the graph configuration file; git_host and internal_source only',
  })
  graph_config_path?: string | null;

  @Text({
    minLength: 1,
    maxLength: 1024,
    pattern: IMAGE_REFERENCE,
    patternText: 'String should be the reference of an image: letters, digits and . _ - + : / @',
    about: 'Image; for internal_image its name in the image store',
  })
  image_uri?: string | null;

  @Text({
    maxLength: 128,
    pattern:
      /^deployments\/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\/archives\/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/,
    patternText: 'String should be the object_path of an upload',
    about: 'object_path of the uploaded archive; internal_source only',
  })
  source_tarball_path?: string | null;
}

const NAME = {
  minLength: 1,
  maxLength: 128,
  isUnicode: true,
  pattern: /^[^\u0000-\u001f\u007f]+$/,
  patternText: 'String should have no control characters',
};

const MAX_REFERENCES = 100;

/** Members of bodies that make or change a deployment, beside its parts. */
class DescribedDeploymentRequest {
  @Text({ ...NAME, about: 'Name for people' })
  display_name?: string | null;

  @NestedList(() => SecretReferenceRequest, {
    maxSize: MAX_REFERENCES,
    about: 'Environment variables from Secrets that exist; a list replaces all and makes a new revision',
  })
  secret_references?: SecretReferenceRequest[] | null;

  @TextList({ maxSize: 100, maxLength: 256, about: 'NAME:VERSION of packages; kept and answered' })
  tracked_packages?: string[] | null;
}

/** Members of bodies that make or change a deployment, and no revision alone. */
class RolledOutDeploymentRequest extends DescribedDeploymentRequest {
  @Whole({
    min: 0,
    max: 3600,
    about: 'How long a new revision must stay ready before it takes over; half a second when unset',
  })
  min_ready_seconds?: number | null;

  @Whole({
    min: 1,
    max: 604_800,
    about:
      'With a min_scale of 0: how long nothing may be asked until the deployment goes to sleep; 300 when unset',
  })
  idle_seconds?: number | null;

  @Flag({ about: 'Go back to the former revision when the one that took over fails; true when unset' })
  rollback_on_failure?: boolean | null;
}

/** Body of `POST /v2/deployments`. */
export class CreateDeploymentRequest extends RolledOutDeploymentRequest {
  @Text({ ...NAME, required: true, about: 'Also the name of the tracing project; immutable' })
  name: string;

  @Choice(SOURCES, { required: true, about: 'Immutable' })
  source: (typeof SOURCES)[number];

  @Nested(() => SourceConfigRequest, { required: true })
  source_config: SourceConfigRequest;

  @Nested(() => SourceRevisionConfigRequest, { required: true })
  source_revision_config: SourceRevisionConfigRequest;

  @NestedList(() => SecretRequest, {
    maxSize: 500,
    about: 'Environment variables of the agent; absent or null, as some clients send it, means none',
  })
  secrets?: SecretRequest[] | null;
}

/** Body of `POST /v2/deployments/{id}/revisions`; an absent field is taken from the deployment. */
export class CreateRevisionRequest extends DescribedDeploymentRequest {
  @Nested(() => SourceConfigRequest, { about: 'As in PATCH of the deployment' })
  source_config?: SourceConfigRequest | null;

  @Nested(() => SourceRevisionConfigRequest, { about: 'What changes with it; null and absent fields stay' })
  source_revision_config?: SourceRevisionConfigRequest | null;

  @NestedList(() => SecretRequest, { maxSize: 500, about: 'Replaces all' })
  secrets?: SecretRequest[] | null;
}

/** Body of `PATCH /v2/deployments/{id}`. Immutable fields may be repeated, not changed. */
export class PatchDeploymentRequest extends RolledOutDeploymentRequest {
  @Text({ ...NAME, about: 'Immutable' })
  name?: string | null;

  @Choice(SOURCES, { about: 'Immutable' })
  source?: (typeof SOURCES)[number] | null;

  @Choice(SOURCES, { about: 'Source of the new revision: that of the deployment' })
  revision_source?: (typeof SOURCES)[number] | null;

  @Nested(() => SourceConfigRequest)
  source_config?: SourceConfigRequest | null;

  @Nested(() => SourceRevisionConfigRequest, { about: 'A field that is not null makes a new revision' })
  source_revision_config?: SourceRevisionConfigRequest | null;

  @NestedList(() => SecretRequest, { maxSize: 500, about: 'Replaces all; makes a new revision' })
  secrets?: SecretRequest[] | null;

  @Flag({ about: 'Scale the deployment to nothing and make no revisions; its status is UNUSED then' })
  suspend?: boolean | null;
}

function asList({ value }: { value: unknown }): unknown {
  return typeof value === 'string' ? value.split(',').filter((part) => part !== '') : value;
}

function asIds(given: { value: unknown }): unknown {
  const ids = asList(given);
  return Array.isArray(ids)
    ? ids.map((id: unknown) => (typeof id === 'string' ? id.toLowerCase() : id))
    : ids;
}

/** Query of `GET /v2/deployments`. */
export class DeploymentsQuery extends PageQuery {
  @Text({ maxLength: 128, about: 'Whole name' })
  name?: string;

  @Text({ maxLength: 128 })
  name_contains?: string;

  @Choice(['AWAITING_DATABASE', 'READY', 'UNUSED', 'AWAITING_DELETE', 'UNKNOWN'])
  status?: string;

  @Choice(['dev_free', ...bothWords('deployment_type')])
  deployment_type?: string;

  @TextList({ maxSize: 100, about: 'Ids, separated by commas' })
  @Transform(asIds)
  deployment_ids?: string[];

  @Text({ maxLength: 128, about: 'Version of the agent server in the image that serves, whole' })
  image_version?: string;

  @TextList({ maxSize: 100, about: 'Ids, separated by commas. No deployment has tags here: lists none' })
  @Transform(asList)
  tag_value_ids?: string[];

  @Text({ maxLength: 128, about: 'No deployment has an agent id here: lists none' })
  agent_id?: string;

  @Choice(['development', 'staging', 'production'], { about: 'Of an agent id: lists none' })
  agent_environment?: string;

  @QueryFlag({ about: 'Whether the newest change was carried out' })
  remote_reconciled?: boolean;
}

/** Query of `GET /v2/deployments/{id}/revisions`. */
export class RevisionsQuery extends PageQuery {
  @TextList({ maxSize: 20, choices: REVISION_STATUSES, about: 'Statuses, separated by commas' })
  @Transform(asList)
  status?: string[];

  @QueryFlag({ about: 'Whether the rollout of the revision is over' })
  remote_reconciled?: boolean;
}

/** Query of `DELETE /v2/deployments`. */
export class DeleteDeploymentsQuery {
  @TextList({
    required: true,
    minSize: 1,
    maxSize: 100,
    about: 'Ids, separated by commas; filters are not taken',
  })
  @Transform(asIds)
  deployment_ids: string[];

  @QueryFlag({ about: 'Also deletes their tracing projects with their runs' })
  delete_tracing_project?: boolean;
}

/** Query of `DELETE /v2/deployments/{id}`. */
export class DeleteDeploymentQuery {
  @QueryFlag({ about: 'Also deletes the tracing project with its runs' })
  delete_tracing_project?: boolean;
}
