import { Transform } from 'class-transformer';
import { Choice, Text, TextList } from '../wire/fields.js';
import { PageQuery, QueryFlag } from '../wire/query-flag.js';
import { REVISION_STATUSES } from './deployment-answer.js';
import { bothWords } from '../wire/vocabulary.js';

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
