import { randomUUID } from 'node:crypto';
import { expect } from '@jest/globals';
import { waitFor } from '#lib/testing';
import { all, type World } from '../world.js';
import { type Calls, pageAt } from './run-calls.js';

const aName = (): string => `made ${randomUUID()}`;

export const PROJECTS: Calls = {
  async createProject({ client }) {
    const projectName = aName();
    const made = await client.createProject({ projectName, description: 'd', metadata: { a: 'b' } });
    expect(made).toMatchObject({ name: projectName, description: 'd', extra: { metadata: { a: 'b' } } });
    await expect(client.createProject({ projectName })).rejects.toThrow(/409/);
    const again = await client.createProject({ projectName, description: 'other', upsert: true });
    expect(again).toMatchObject({ id: made.id, description: 'other' });
  },
  async readProject({ client, project, projectId }) {
    const read = await client.readProject({ projectName: project, includeStats: true });
    expect(read).toMatchObject({ id: projectId, run_count: 1, total_tokens: 7 });
  },
  async updateProject({ client }) {
    const { id } = await client.createProject({ projectName: aName() });
    const changed = await client.updateProject(id, { description: 'changed', metadata: { c: 'd' } });
    expect(changed).toMatchObject({ id, description: 'changed', extra: { metadata: { c: 'd' } } });
  },
  async hasProject({ client, project }) {
    expect(await client.hasProject({ projectName: project })).toBe(true);
    expect(await client.hasProject({ projectName: aName() })).toBe(false);
  },
  async listProjects({ client, project, projectId }) {
    const byName = await all(client.listProjects({ name: project, includeStats: true }));
    expect(byName).toMatchObject([{ id: projectId, run_count: 1 }]);
    for (const more of [{ nameContains: 'method' }, { projectIds: [projectId] }, { referenceFree: true }])
      expect((await all(client.listProjects(more))).map(({ id }) => id)).toContain(projectId);
    expect(await all(client.listProjects({ metadata: { no: 'such' } }))).toEqual([]);
  },
  async deleteProject({ client }) {
    const projectName = aName();
    await client.createProject({ projectName });
    await client.deleteProject({ projectName });
    await waitFor(async () => !(await client.hasProject({ projectName })));
  },
  async getProjectUrl(world) {
    const url = await world.client.getProjectUrl({ projectName: world.project });
    expect(url).toBe(`${world.url}/o/${world.tenantId}/projects/p/${world.projectId}`);
    expect(await pageAt(world, url)).toContain('agent');
  },
  'sessions.create': async ({ client }) => {
    const name = aName();
    expect(await client.sessions.create({ name, description: 'd' })).toMatchObject({
      name,
      description: 'd',
    });
  },
  'sessions.retrieve': async ({ client, project, projectId }) => {
    const read = await client.sessions.retrieve(projectId, { include_stats: true });
    expect(read).toMatchObject({ id: projectId, name: project, run_count: 1 });
  },
  'sessions.update': async ({ client }) => {
    const { id } = await client.createProject({ projectName: aName() });
    expect(await client.sessions.update(id, { description: 'changed' })).toMatchObject({
      description: 'changed',
    });
  },
  'sessions.delete': async ({ client }) => {
    const projectName = aName();
    const { id } = await client.createProject({ projectName });
    await client.sessions.delete(id);
    await waitFor(async () => !(await client.hasProject({ projectName })));
  },
};

async function aFeedback({ client, root, projectId }: World, key: string) {
  return client.createFeedback({ runId: root, key, score: 0.5, comment: 'c', sessionId: projectId });
}

const RANGE = { type: 'continuous', min: 0, max: 5 } as const;

const aConfig = async ({ client }: World, feedbackKey = aName()) =>
  client.createFeedbackConfig({ feedbackKey, feedbackConfig: RANGE });

/** A key whose values are two named ones. */
async function aChoice(client: World['client']): Promise<string> {
  const feedbackKey = aName();
  const categories = [
    { value: 0, label: 'bad' },
    { value: 1, label: 'good' },
  ];
  await client.createFeedbackConfig({ feedbackKey, feedbackConfig: { type: 'categorical', categories } });
  return feedbackKey;
}

const CONFIGS: Calls = {
  async createFeedbackConfig(world) {
    expect(await aConfig(world)).toMatchObject({ feedback_config: RANGE, is_lower_score_better: false });
  },
  async listFeedbackConfigs(world) {
    const { feedback_key: key } = await aConfig(world);
    const listed = await all(world.client.listFeedbackConfigs({ feedbackKeys: [key] }));
    expect(listed).toMatchObject([{ feedback_key: key, feedback_config: RANGE }]);
  },
  async updateFeedbackConfig(world) {
    const { feedback_key: key } = await aConfig(world);
    const changed = await world.client.updateFeedbackConfig(key, { isLowerScoreBetter: true });
    expect(changed).toMatchObject({ feedback_config: RANGE, is_lower_score_better: true });
  },
  async addFeedbackCategories({ client }) {
    const feedbackKey = await aChoice(client);
    const { feedback_config } = await client.addFeedbackCategories(feedbackKey, [
      { value: 2, label: 'so-so' },
    ]);
    expect(feedback_config.categories?.map(({ value }) => value)).toEqual([0, 1, 2]);
  },
  async removeFeedbackCategories({ client }) {
    const feedbackKey = await aChoice(client);
    await client.addFeedbackCategories(feedbackKey, [{ value: 2, label: 'so-so' }]);
    const { feedback_config } = await client.removeFeedbackCategories(feedbackKey, [0]);
    expect(feedback_config.categories?.map(({ value }) => value)).toEqual([1, 2]);
  },
  async deleteFeedbackConfig(world) {
    const { feedback_key: key } = await aConfig(world);
    await world.client.deleteFeedbackConfig(key);
    expect(await all(world.client.listFeedbackConfigs({ feedbackKeys: [key] }))).toEqual([]);
  },
};

export const FEEDBACK: Calls = {
  ...CONFIGS,
  async createFeedback(world) {
    const made = await aFeedback(world, 'created');
    const read = (await world.call('GET', `/feedback/${made.id}`)).json as object;
    expect(read).toMatchObject({ run_id: world.root, key: 'created', score: 0.5, comment: 'c' });
  },
  async readFeedback(world) {
    const { id } = await aFeedback(world, 'read');
    expect(await world.client.readFeedback(id)).toMatchObject({ id, key: 'read', score: 0.5 });
  },
  async updateFeedback(world) {
    const { id } = await aFeedback(world, 'updated');
    await world.client.updateFeedback(id, { score: 1, comment: 'better', correction: { a: 1 } });
    expect(await world.client.readFeedback(id)).toMatchObject({ score: 1, comment: 'better' });
  },
  async deleteFeedback(world) {
    const { id } = await aFeedback(world, 'deleted');
    await world.client.deleteFeedback(id);
    await expect(world.client.readFeedback(id)).rejects.toThrow(/404/);
  },
  async listFeedback(world) {
    await aFeedback(world, 'listed');
    const asked = { runIds: [world.root], feedbackKeys: ['listed'], feedbackSourceTypes: ['api' as const] };
    expect(await all(world.client.listFeedback(asked))).toMatchObject([{ key: 'listed' }]);
  },
  async createPresignedFeedbackToken({ client, root, call }) {
    const { url } = await client.createPresignedFeedbackToken(root, 'liked', { expiration: { minutes: 5 } });
    expect((await fetch(`${url}?score=1`)).status).toBe(200);
    expect((await call('GET', `/feedback?run=${root}&key=liked`)).json).toMatchObject([{ score: 1 }]);
  },
  async listPresignedFeedbackTokens({ client, model }) {
    const { id } = await client.createPresignedFeedbackToken(model, 'stars');
    expect(await all(client.listPresignedFeedbackTokens(model))).toMatchObject([{ id }]);
  },
  async logEvaluationFeedback({ client, model, projectId }) {
    const run = await client.readRun(model);
    const evaluatorResponse = { key: 'exact', score: 1 };
    expect(await client.logEvaluationFeedback({ evaluatorResponse, run, projectId })).toEqual([
      evaluatorResponse,
    ]);
    // newer clients send it with their runs
    await client.awaitPendingTraceBatches();
    const asked = { runIds: [model], feedbackKeys: ['exact'] };
    expect(await all(client.listFeedback(asked))).toMatchObject([{ score: 1 }]);
  },
};
