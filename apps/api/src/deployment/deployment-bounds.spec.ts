import { describe, expect, it } from '@jest/globals';
import { deploymentBody } from '../testdata/deployment-body.js';
import { problemsIn } from '../testdata/problems-in.js';
import { testApi } from '../testdata/test-api.js';

/** The most that each field of a resource spec takes. */
const MOST: Readonly<Record<string, number>> = {
  cpu: 8,
  cpu_limit: 16,
  queue_cpu: 8,
  queue_cpu_limit: 16,
  memory_mb: 1_048_576,
  memory_limit_mb: 1_048_576,
  cache_memory_mb: 1_048_576,
  queue_memory_mb: 1_048_576,
  queue_memory_limit_mb: 1_048_576,
  db_memory_mb: 1_048_576,
  db_memory_limit_mb: 1_048_576,
  min_scale: 1000,
  max_scale: 1000,
  queue_min_scale: 1000,
  queue_max_scale: 1000,
  db_storage_gi: 65_536,
  db_max_connections: 10_000,
};

/** The same for fields beside it. */
const MOST_BESIDE = { min_ready_seconds: 3600, idle_seconds: 604_800 };

describe('the bounds of a deployment', () => {
  const { tenant } = testApi();
  const post = (over: object) => tenant.call('POST', '/v2/deployments', deploymentBody(over));

  it('accepts the most of every field at once', async () => {
    const made = await post({ ...MOST_BESIDE, source_config: { resource_spec: MOST } });
    expect([made.status, made.json.detail]).toEqual([201, undefined]);
    expect(made.json.source_config.resource_spec).toMatchObject(MOST);
  });

  it('refuses one more of each, every field by its name', async () => {
    const more = (fields: Readonly<Record<string, number>>) =>
      Object.fromEntries(Object.entries(fields).map(([name, most]) => [name, most + 1]));
    const answer = await post({
      ...more(MOST_BESIDE),
      source_config: { resource_spec: more(MOST) },
    });
    const names = [
      ...Object.keys(MOST).map((name) => `source_config.resource_spec.${name}`),
      ...Object.keys(MOST_BESIDE),
    ];
    expect([answer.status, problemsIn(answer).sort()]).toEqual([
      422,
      names.map((name) => `body.${name} less_than_equal`).sort(),
    ]);
  });
});

describe('the filters of deployments', () => {
  const { tenant } = testApi();
  const listed = async (query: string): Promise<string[]> =>
    (await tenant.call('GET', `/v2/deployments?${query}`)).json.resources.map(
      ({ name }: { name: string }) => name,
    );

  it('finds deployments of a type, and none by a tag, which none has', async () => {
    for (const deployment_type of ['dev', 'prod', null])
      expect(
        (
          await tenant.call('POST', '/v2/deployments', {
            name: `of-${deployment_type ?? 'none'}`,
            source: 'git_host',
            secrets: [],
            source_config: { repo_url: 'https://git.example.org/a.git', deployment_type },
            source_revision_config: { graph_config_path: 'langgraph.json' },
          })
        ).status,
      ).toBe(201);
    expect((await listed('limit=100')).sort()).toEqual(['of-dev', 'of-none', 'of-prod']);
    expect(await listed('deployment_type=prod')).toEqual(['of-prod']);
    expect(await listed('deployment_type=dev_free')).toEqual([]);
    expect(await listed('tag_value_ids=one,two')).toEqual([]);
    expect(await listed('tag_value_ids=')).toHaveLength(3);
    const refused = await tenant.call('GET', '/v2/deployments?deployment_type=large&limit=101');
    expect([refused.status, problemsIn(refused).sort()]).toEqual([
      422,
      ['query.deployment_type enum', 'query.limit less_than_equal'],
    ]);
  });
});
