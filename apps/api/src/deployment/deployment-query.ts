import { Transform } from 'class-transformer';
import { Choice, Flag, Text, TextList } from '../wire/fields.js';
import { PageQuery } from '../wire/page.js';

function asList({ value }: { value: unknown }): unknown {
  return typeof value === 'string' ? value.split(',').filter((part) => part !== '') : value;
}

/** Query of `GET /v2/deployments`. */
export class DeploymentsQuery extends PageQuery {
  @Text({ maxLength: 128 })
  name_contains?: string;

  @Choice(['AWAITING_DATABASE', 'READY', 'UNUSED', 'AWAITING_DELETE', 'UNKNOWN'])
  status?: string;

  @Choice(['dev_free', 'dev', 'prod'])
  deployment_type?: string;

  @TextList({ maxSize: 100, about: 'Ids, separated by commas' })
  @Transform(asList)
  deployment_ids?: string[];
}

/** Query of `GET /v2/deployments/{id}/revisions`. */
export class RevisionsQuery extends PageQuery {
  @TextList({ maxSize: 20, about: 'Statuses, separated by commas' })
  @Transform(asList)
  status?: string[];
}

/** Query of `DELETE /v2/deployments/{id}`. */
export class DeleteDeploymentQuery {
  @Flag({ about: 'Also deletes the tracing project with its runs' })
  @Transform(({ value }) => (value === 'true' ? true : value === 'false' ? false : (value as unknown)))
  delete_tracing_project?: boolean;
}
