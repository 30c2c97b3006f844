/** Values reach COPY, which takes no parameters, as settings of the transaction; the text of the query never varies with them. */
export const SETTING = {
  tenant: 'agentplane.export_tenant',
  project: 'agentplane.export_project',
  start: 'agentplane.export_start',
  end: 'agentplane.export_end',
  afterTime: 'agentplane.export_after_time',
  afterId: 'agentplane.export_after_id',
  afterTrace: 'agentplane.export_after_trace',
  untilTime: 'agentplane.export_until_time',
  untilId: 'agentplane.export_until_id',
  untilTrace: 'agentplane.export_until_trace',
  since: 'agentplane.export_since',
  limit: 'agentplane.export_limit',
} as const;

/** The value of a setting, as SQL. */
export function setting(name: keyof typeof SETTING, type: string): string {
  return `current_setting('${SETTING[name]}')::${type}`;
}
