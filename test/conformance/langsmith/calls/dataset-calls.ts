import { randomUUID } from 'node:crypto';
import { expect } from '@jest/globals';
import { DATASET, all, type World } from '../world.js';
import type { Calls } from './run-calls.js';

/** A data set of its own with two examples. */
async function aDataset({ client }: World) {
  const { id, name } = await client.createDataset(`made ${randomUUID()}`, { description: 'd' });
  const [one, two] = await client.createExamples([
    { dataset_id: id, inputs: { n: 1 }, outputs: { m: 1 }, split: 'train' },
    { dataset_id: id, inputs: { n: 2 }, outputs: { m: 2 }, split: 'test' },
  ]);
  if (!one || !two) throw new Error('the examples were not made');
  return { datasetId: id, name, one, two };
}

const inputsOf = (examples: readonly { readonly inputs: unknown }[]): string[] =>
  examples.map(({ inputs }) => JSON.stringify(inputs)).sort();

export const DATASETS: Calls = {
  async createDataset({ client }) {
    const name = `made ${randomUUID()}`;
    expect(await client.createDataset(name, { metadata: { a: 1 } })).toMatchObject({ name });
    await expect(client.createDataset(name)).rejects.toThrow(/409/);
  },
  async readDataset({ client, datasetId }) {
    expect(await client.readDataset({ datasetName: DATASET })).toMatchObject({ id: datasetId });
    expect(await client.readDataset({ datasetId })).toMatchObject({ name: DATASET });
  },
  async hasDataset({ client }) {
    expect(await client.hasDataset({ datasetName: DATASET })).toBe(true);
    expect(await client.hasDataset({ datasetName: 'none' })).toBe(false);
  },
  async listDatasets({ client, datasetId }) {
    for (const asked of [
      { datasetName: DATASET },
      { datasetIds: [datasetId] },
      { datasetNameContains: 'quest' },
    ])
      expect(await all(client.listDatasets(asked))).toMatchObject([{ id: datasetId }]);
  },
  async updateDataset(world) {
    const { datasetId } = await aDataset(world);
    await world.client.updateDataset({ datasetId, description: 'changed' });
    expect(await world.client.readDataset({ datasetId })).toMatchObject({ description: 'changed' });
  },
  async deleteDataset(world) {
    const { datasetId } = await aDataset(world);
    await world.client.deleteDataset({ datasetId });
    await expect(world.client.readDataset({ datasetId })).rejects.toThrow(/404/);
  },
  async updateDatasetTag(world) {
    const { datasetId } = await aDataset(world);
    await world.client.updateDatasetTag({ datasetId, asOf: new Date(), tag: 'prod' });
    expect(await world.client.readDatasetVersion({ datasetId, tag: 'prod' })).toMatchObject({
      tags: expect.arrayContaining(['prod']),
    });
  },
  async readDatasetVersion({ client, datasetId }) {
    expect(await client.readDatasetVersion({ datasetId, tag: 'latest' })).toMatchObject({
      as_of: expect.any(String),
    });
  },
  async diffDatasetVersions(world) {
    const { datasetId, one } = await aDataset(world);
    const fromVersion = new Date();
    await world.client.updateExample({ id: one.id, dataset_id: datasetId, inputs: { n: 5 } });
    const diff = await world.client.diffDatasetVersions({ datasetId, fromVersion, toVersion: new Date() });
    expect(diff.examples_modified).toEqual([one.id]);
  },
  async listDatasetSplits(world) {
    const { datasetId } = await aDataset(world);
    expect((await world.client.listDatasetSplits({ datasetId })).sort()).toEqual(['test', 'train']);
  },
  async updateDatasetSplits(world) {
    const { datasetId, one } = await aDataset(world);
    await world.client.updateDatasetSplits({ datasetId, splitName: 'mine', exampleIds: [one.id] });
    const found = await all(world.client.listExamples({ datasetId, splits: ['mine'] }));
    expect(found.map(({ id }) => id)).toEqual([one.id]);
  },
  async createExample({ client, datasetId }) {
    const made = await client.createExample({ dataset_id: datasetId, inputs: { q: 2 }, outputs: { a: 2 } });
    expect(await client.readExample(made.id)).toMatchObject({ inputs: { q: 2 }, outputs: { a: 2 } });
  },
  async createExamples(world) {
    const { datasetId } = await aDataset(world);
    expect(inputsOf(await all(world.client.listExamples({ datasetId })))).toEqual(['{"n":1}', '{"n":2}']);
  },
  async createLLMExample({ client, datasetId }) {
    const made = await client.createLLMExample('question', 'answer', { datasetId });
    expect(await client.readExample(made.id)).toMatchObject({ inputs: { input: 'question' } });
  },
  async createChatExample({ client, datasetId }) {
    const made = await client.createChatExample(
      [{ text: 'hi', sender: 'user' }],
      { text: 'ho' },
      { datasetId },
    );
    expect(await client.readExample(made.id)).toMatchObject({ inputs: { input: [{ text: 'hi' }] } });
  },
  async uploadExamplesMultipart({ client, datasetId }) {
    const { example_ids: ids } = await client.uploadExamplesMultipart(datasetId, [
      { dataset_id: datasetId, inputs: { q: 3 } },
    ]);
    expect(await client.readExample(ids[0] ?? '')).toMatchObject({ inputs: { q: 3 } });
  },
  async readExample({ client, exampleId, datasetId }) {
    expect(await client.readExample(exampleId)).toMatchObject({ dataset_id: datasetId, inputs: { q: 1 } });
  },
  async listExamples(world) {
    const { datasetId, one } = await aDataset(world);
    for (const more of [
      { splits: ['train'] },
      { exampleIds: [one.id] },
      { asOf: new Date(), splits: ['train'] },
    ])
      expect(inputsOf(await all(world.client.listExamples({ datasetId, ...more })))).toEqual(['{"n":1}']);
    expect(await all(world.client.listExamples({ datasetId, limit: 1 }))).toHaveLength(1);
  },
  async updateExample(world) {
    const { datasetId, one } = await aDataset(world);
    await world.client.updateExample({ id: one.id, dataset_id: datasetId, inputs: { n: 9 } });
    expect(await world.client.readExample(one.id)).toMatchObject({ inputs: { n: 9 } });
  },
  async updateExamples(world) {
    const { datasetId, one, two } = await aDataset(world);
    const change = ({ id }: { readonly id: string }) => ({ id, dataset_id: datasetId, inputs: { n: 8 } });
    await world.client.updateExamples([change(one), change(two)]);
    expect(inputsOf(await all(world.client.listExamples({ datasetId })))).toEqual(['{"n":8}', '{"n":8}']);
  },
  async updateExamplesMultipart(world) {
    const { datasetId, two } = await aDataset(world);
    await world.client.updateExamplesMultipart(datasetId, [{ id: two.id, inputs: { n: 7 } }]);
    expect(await world.client.readExample(two.id)).toMatchObject({ inputs: { n: 7 } });
  },
  async deleteExample(world) {
    const { datasetId, one } = await aDataset(world);
    await world.client.deleteExample(one.id);
    expect(inputsOf(await all(world.client.listExamples({ datasetId })))).toEqual(['{"n":2}']);
  },
  async deleteExamples(world) {
    const { datasetId, one, two } = await aDataset(world);
    await world.client.deleteExamples([one.id, two.id]);
    expect(await all(world.client.listExamples({ datasetId }))).toEqual([]);
  },
  async getDatasetUrl({ client, datasetId, tenantId, url }) {
    expect(await client.getDatasetUrl({ datasetId })).toBe(`${url}/o/${tenantId}/datasets/${datasetId}`);
  },
  async 'datasets.experimentRuns.query'(world) {
    const { client, call } = world;
    const { datasetId, one, two } = await aDataset(world);
    const project = await client.createProject({
      projectName: `made ${randomUUID()}`,
      referenceDatasetId: datasetId,
    });
    const post = [one, two].map(({ id: example }) => {
      const id = randomUUID();
      const run = { id, trace_id: id, name: 'answer', run_type: 'chain', reference_example_id: example };
      return { ...run, session_name: project.name, inputs: { of: example } };
    });
    await call('POST', '/runs/batch', { post, patch: [] });
    const of = { experiment_ids: [project.id], selects: ['NAME', 'INPUTS'] as 'NAME'[] };
    const found = await all(client.datasets.experimentRuns.query(datasetId, { ...of, page_size: 1 }));
    expect(found).toMatchObject(
      [one, two].map(({ id, inputs }) => ({
        id,
        inputs,
        dataset_id: datasetId,
        runs: [{ name: 'answer', inputs: { of: id } }],
      })),
    );
    const filters = { [project.id]: ['eq(name, "other")'] };
    const none = await all(
      client.datasets.experimentRuns.query(datasetId, { ...of, filters, example_ids: [two.id] }),
    );
    expect(none).toMatchObject([{ id: two.id, runs: [] }]);
  },
  // refused
  shareDataset: ({ client, datasetId }) => client.shareDataset(datasetId),
  unshareDataset: ({ client, datasetId }) => client.unshareDataset(datasetId),
  readDatasetSharedSchema: ({ client, datasetId }) => client.readDatasetSharedSchema(datasetId),
  readSharedDataset: ({ client }) => client.readSharedDataset(randomUUID()),
  listSharedExamples: ({ client }) => client.listSharedExamples(randomUUID()),
  clonePublicDataset: ({ client }) => client.clonePublicDataset(randomUUID()),
  uploadCsv: ({ client }) =>
    client.uploadCsv({ csvFile: new Blob(['a,b']), fileName: 'a.csv', inputKeys: ['a'], outputKeys: ['b'] }),
  readDatasetOpenaiFinetuning: ({ client, datasetId }) => client.readDatasetOpenaiFinetuning({ datasetId }),
  createComparativeExperiment: ({ client, datasetId, projectId }) =>
    client.createComparativeExperiment({
      name: 'c',
      experimentIds: [projectId],
      referenceDatasetId: datasetId,
    }),
};
