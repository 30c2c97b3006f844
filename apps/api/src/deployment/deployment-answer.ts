import type { DeploymentWireStatus, RevisionWireStatus } from '#lib/resources';
import {
  Answered,
  FLAG,
  listOf,
  NUMBER,
  object,
  orNull,
  TEXT,
  textList,
  TIME,
  UUID,
  WHOLE,
  words,
} from '../wire/shape.js';
import { ResourceSpecRequest } from './resource-spec-request.js';

const SOURCES = ['git_host', 'external_image', 'internal_image', 'internal_source'];
const DEPLOYMENT_STATUSES = [
  'AWAITING_DATABASE',
  'READY',
  'UNUSED',
  'AWAITING_DELETE',
  'UNKNOWN',
] satisfies readonly DeploymentWireStatus[];
export const REVISION_STATUSES = [
  'CREATING',
  'QUEUED',
  'AWAITING_BUILD',
  'BUILDING',
  'AWAITING_DEPLOY',
  'DEPLOYING',
  'DEPLOYED',
  'CREATE_FAILED',
  'BUILD_FAILED',
  'DEPLOY_FAILED',
  'SKIPPED',
  'INTERRUPTED',
  'UNKNOWN',
] satisfies readonly RevisionWireStatus[];

export class LastWakeAnswer {
  @Answered(TIME, 'When a request or due work began it') readonly at: string;
  @Answered(NUMBER, 'Time until all of its pods were ready') readonly seconds: number;
}

export class ListenerConfigAnswer {
  @Answered(orNull(TEXT)) readonly cluster_namespace: string | null;
}

export class SourceConfigAnswer {
  @Answered(orNull(UUID)) readonly integration_id: string | null;
  @Answered(orNull(TEXT)) readonly repo_url: string | null;
  @Answered(orNull(words(['dev_free', 'dev', 'prod']))) readonly deployment_type: string | null;
  @Answered(orNull(FLAG)) readonly build_on_push: boolean | null;
  @Answered(orNull(TEXT), 'Address of the deployment: the one that was given, else that of the platform')
  readonly custom_url: string | null;
  @Answered(orNull(object(() => ResourceSpecRequest))) readonly resource_spec: object | null;
  @Answered(orNull(UUID)) readonly listener_id: string | null;
  @Answered(orNull(object(() => ListenerConfigAnswer))) readonly listener_config: ListenerConfigAnswer | null;
  @Answered(orNull(TEXT)) readonly install_command: string | null;
  @Answered(orNull(TEXT)) readonly build_command: string | null;
}

export class SourceRevisionConfigAnswer {
  @Answered(orNull(TEXT)) readonly repo_ref: string | null;
  @Answered(orNull(TEXT)) readonly graph_config_path: string | null;
  @Answered(orNull(TEXT)) readonly image_uri: string | null;
  @Answered(orNull(TEXT)) readonly source_tarball_path: string | null;
  @Answered(orNull(TEXT)) readonly repo_commit_sha: string | null;
}

export class SecretReferenceAnswer {
  @Answered(TEXT) readonly name: string;
  @Answered(TEXT) readonly secret_name: string;
  @Answered(TEXT) readonly secret_key: string;
}

export class SecretAnswer {
  @Answered(TEXT) readonly name: string;
  @Answered(TEXT, 'Always empty: values never leave their Secret') readonly value: string;
}

/** A deployment on the wire. */
export class DeploymentAnswer {
  @Answered(UUID) readonly id: string;
  @Answered(UUID) readonly tenant_id: string;
  @Answered(TEXT) readonly name: string;
  @Answered(words(SOURCES)) readonly source: string;
  @Answered(object(() => SourceConfigAnswer)) readonly source_config: SourceConfigAnswer;
  @Answered(object(() => SourceRevisionConfigAnswer))
  readonly source_revision_config: SourceRevisionConfigAnswer;
  @Answered(orNull(listOf(() => SecretAnswer)), 'Null for a deployment in the words of LangSmith')
  readonly secrets: readonly SecretAnswer[] | null;
  @Answered(listOf(() => SecretReferenceAnswer)) readonly secret_references: readonly SecretReferenceAnswer[];
  @Answered(orNull(TEXT), 'Name for people') readonly display_name: string | null;
  @Answered(orNull(textList()), 'NAME:VERSION of packages that a client noted')
  readonly tracked_packages: readonly string[] | null;
  @Answered(
    textList(),
    "Names of secrets that were sent and left out: they are the platform's, or can run code",
  )
  readonly left_out_secrets: readonly string[];
  @Answered(TIME) readonly created_at: string;
  @Answered(TIME) readonly updated_at: string;
  @Answered(WHOLE, 'Counts the changes of the desired state; ETag is made from it')
  readonly generation: number;
  @Answered(words(DEPLOYMENT_STATUSES), 'READY once its database is; status_reason says whether it serves')
  readonly status: DeploymentWireStatus;
  @Answered(orNull(TEXT), 'Reason of the Ready condition: a CamelCase word')
  readonly status_reason: string | null;
  @Answered(orNull(TEXT), 'The same as a sentence') readonly status_message: string | null;
  @Answered(orNull(UUID)) readonly latest_revision_id: string | null;
  @Answered(orNull(UUID), 'The revision that serves') readonly active_revision_id: string | null;
  @Answered(
    orNull(WHOLE),
    'How long a new revision must stay ready before it takes over; half a second when null',
  )
  readonly min_ready_seconds: number | null;
  @Answered(
    orNull(WHOLE),
    'With a min_scale of 0: how long nothing may be asked until it sleeps; 300 when null',
  )
  readonly idle_seconds: number | null;
  @Answered(
    orNull(FLAG),
    'Whether a revision that fails while it serves is left for the former one; true when null',
  )
  readonly rollback_on_failure: boolean | null;
  @Answered(
    orNull(TEXT),
    'Version of the agent server in the image that serves, as it declares it at GET /info; null until then',
  )
  readonly image_version: string | null;
  @Answered(orNull(object(() => LastWakeAnswer)), 'The last wake from sleep of the revision that serves')
  readonly last_wake: LastWakeAnswer | null;
  @Answered(orNull(TEXT), 'Where the agent is called, once a revision has served') readonly url:
    string | null;
}

/** True when a route answers with a deployment. */
export function isDeploymentAnswer(answer: unknown): answer is DeploymentAnswer {
  return typeof answer === 'object' && answer !== null && 'source_config' in answer;
}

/** Result for each deployment that was to be deleted. */
export class DeletionAnswer {
  @Answered(textList(), 'Ids whose deletion has begun') readonly deleted: readonly string[];
  @Answered(textList(), 'Ids that no deployment of the workspace has') readonly not_found: readonly string[];
}

/** A revision on the wire. */
export class RevisionAnswer {
  @Answered(UUID) readonly id: string;
  @Answered(orNull(TEXT), 'Name of its AgentRevision; null until the controller has made it')
  readonly name: string | null;
  @Answered(TIME) readonly created_at: string;
  @Answered(TIME) readonly updated_at: string;
  @Answered(words(REVISION_STATUSES)) readonly status: RevisionWireStatus;
  @Answered(orNull(TEXT), 'Reason of the Ready condition: a CamelCase word')
  readonly status_reason: string | null;
  @Answered(orNull(TEXT), 'The same as a sentence') readonly status_message: string | null;
  @Answered(
    FLAG,
    'Whether it is past the limit of the history, and kept in the archive alone, without its variables',
  )
  readonly archived: boolean;
  @Answered(words(SOURCES)) readonly source: string;
  @Answered(object(() => SourceRevisionConfigAnswer))
  readonly source_revision_config: SourceRevisionConfigAnswer;
}

const OFFSET = 'What to send as offset for the next page';
const REMOVED = 'Earlier revisions that neither the history nor the archive has any more: their ids are 404';

export class DeploymentPage {
  @Answered(listOf(() => DeploymentAnswer)) readonly resources: readonly DeploymentAnswer[];
  @Answered(WHOLE, OFFSET) readonly offset: number;
}

export class RevisionPage {
  @Answered(listOf(() => RevisionAnswer)) readonly resources: readonly RevisionAnswer[];
  @Answered(WHOLE, OFFSET) readonly offset: number;
  @Answered(WHOLE, REMOVED) readonly removed: number;
}
