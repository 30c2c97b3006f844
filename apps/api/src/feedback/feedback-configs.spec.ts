import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { promisify } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import { Client } from 'langsmith';
import { pythonWith } from '#lib/testing';
import { testApi } from '../testdata/test-api.js';

/** A Python with `langsmith`. */
const python = pythonWith('langsmith');
const CALLS = `
import json, sys
from langsmith import Client
client = Client(api_url=sys.argv[1], api_key=sys.argv[2])
labels = [{"value": n, "label": str(n)} for n in range(2)]
made = client.create_feedback_config("topics", feedback_config={"type": "categorical", "categories": labels, "allows_multiple_categories": True})
added = client.add_feedback_categories("topics", [{"value": 2, "label": "2"}])
left = client.remove_feedback_categories("topics", [0])
by_id = client.update_feedback_config("topics", is_lower_score_better=True, config_id=made.id)
listed = [c.feedback_key for c in client.list_feedback_configs(name_contains="OPIC", include_all_configs=True, is_enforced=False)]
client.delete_feedback_config(config_id=made.id)
print(json.dumps([len(added.feedback_config["categories"]), left.feedback_config, by_id.is_lower_score_better, listed, len(list(client.list_feedback_configs(feedback_key=["topics"])))]))
`;

const { api, tenant } = testApi();
const RANGE = { type: 'continuous', min: 0, max: 5, categories: null } as const;

describe('a feedback configuration', () => {
  it('works through its life by the JavaScript client', async () => {
    const client = new Client({ apiUrl: api.url, apiKey: tenant.key });
    const options = { feedbackKey: 'rating', feedbackConfig: RANGE };
    const made = await client.createFeedbackConfig(options);
    expect(made).toMatchObject({
      feedback_key: 'rating',
      feedback_config: { type: 'continuous', min: 0, max: 5 },
      tenant_id: tenant.tenantId,
      is_lower_score_better: false,
    });
    expect(await client.createFeedbackConfig(options)).toEqual(made);
    await expect(
      client.createFeedbackConfig({ ...options, feedbackConfig: { ...RANGE, max: 6 } }),
    ).rejects.toThrow(/Feedback config already exists/);
    const changed = await client.updateFeedbackConfig('rating', { isLowerScoreBetter: true });
    expect(changed).toMatchObject({ feedback_config: { max: 5 }, is_lower_score_better: true });
    await client.createFeedbackConfig({ ...options, feedbackKey: 'again' });
    const keys = async (by: object): Promise<string[]> => {
      const found: string[] = [];
      for await (const one of client.listFeedbackConfigs(by)) found.push(one.feedback_key);
      return found;
    };
    expect(await keys({})).toEqual(['again', 'rating']);
    expect(await keys({ feedbackKeys: ['rating', 'none'] })).toEqual(['rating']);
    expect(await keys({ nameContains: 'GAI' })).toEqual(['again']);
    await client.deleteFeedbackConfig('rating');
    await expect(client.deleteFeedbackConfig('rating')).rejects.toThrow(/404/);
    expect(await keys({})).toEqual(['again']);
    const other = await api.workspace();
    expect((await other.call('GET', '/feedback-configs')).json).toEqual([]);
    expect((await other.call('DELETE', '/feedback-configs?feedback_key=again')).status).toBe(404);
  });

  it.each([
    [{ type: 'stars' }, 'feedback_config'],
    [{ type: 'continuous', min: 2, max: 1 }, 'feedback_config'],
    [{ type: 'categorical', categories: [{ value: 1 }] }, 'feedback_config'],
    [{ type: 'categorical', categories: [{ value: 1 }, { value: 1 }] }, 'feedback_config'],
    [{ type: 'freeform', more: 1 }, 'feedback_config'],
  ])('fails as %j', async (feedback_config, place) => {
    const body = { feedback_key: randomUUID(), feedback_config };
    const { status, json } = await tenant.call('POST', '/feedback-configs', body);
    expect([status, json.detail[0].loc[1]]).toEqual([422, place]);
  });

  it('loses no category of two requests at once', async () => {
    const categories = [0, 1].map((value) => ({ value }));
    const feedback_key = randomUUID();
    await tenant.call('POST', '/feedback-configs', {
      feedback_key,
      feedback_config: { type: 'categorical', categories },
    });
    await Promise.all(
      [2, 3, 4, 5].map((value) =>
        tenant.call('PATCH', '/feedback-configs', { feedback_key, add_categories: [{ value }] }),
      ),
    );
    const [found] = (await tenant.call('GET', `/feedback-configs?key=${feedback_key}`)).json;
    expect(found.feedback_config.categories).toHaveLength(6);
  });

  (python ? it : it.skip)('serves all calls of the Python client', async () => {
    const { stdout } = await promisify(execFile)(python, ['-c', CALLS, api.url, tenant.key]);
    const [added, left, isLower, listed, after] = JSON.parse(stdout);
    expect([added, isLower, listed, after]).toEqual([3, true, ['topics'], 0]);
    expect(left).toMatchObject({
      categories: [{ value: 1 }, { value: 2 }],
      allows_multiple_categories: true,
    });
  });
});
