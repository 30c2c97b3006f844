import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { Client, type Example } from 'langsmith';
import { testApi } from '../testdata/test-api.js';

const EXAMPLES = 130;

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = [];
  for await (const item of items) list.push(item);
  return list;
}

describe('datasets by the client', () => {
  const { api, tenant } = testApi();
  let client: Client;

  beforeAll(() => {
    client = new Client({ apiUrl: api.url, apiKey: tenant.key });
  });

  const numbers = (examples: readonly Example[]) => examples.map(({ inputs }) => inputs['n'] as number);

  it('keeps what is said of a dataset, and lists it by that', async () => {
    const made = await client.createDataset('said', {
      description: 'd',
      dataType: 'llm',
      metadata: { team: 'a' },
      inputsSchema: { type: 'object' },
      outputsSchema: { type: 'string' },
    });
    expect(made).toMatchObject({
      name: 'said',
      description: 'd',
      data_type: 'llm',
      tenant_id: tenant.tenantId,
      inputs_schema_definition: { type: 'object' },
      outputs_schema_definition: { type: 'string' },
      metadata: { team: 'a' },
      example_count: 0,
      session_count: 0,
    });
    expect(await client.readDataset({ datasetName: 'said' })).toEqual(made);
    expect(await client.hasDataset({ datasetName: 'said' })).toBe(true);
    expect(await client.hasDataset({ datasetId: randomUUID() })).toBe(false);
    await client.createDataset('other');
    const names = async (search: Parameters<Client['listDatasets']>[0]) =>
      (await all(client.listDatasets(search))).map(({ name }) => name);
    expect(await names({})).toEqual(['other', 'said']);
    expect(await names({ datasetNameContains: 'SAI' })).toEqual(['said']);
    expect(await names({ metadata: { team: 'a' } })).toEqual(['said']);
    expect(await names({ datasetIds: [made.id] })).toEqual(['said']);
    const renamed = await client.updateDataset({ datasetId: made.id, name: 'renamed' });
    expect(renamed).toMatchObject({
      id: made.id,
      name: 'renamed',
      description: 'd',
      metadata: { team: 'a' },
    });
    await expect(client.createDataset('renamed')).rejects.toThrow(/already exists/);
    await expect(client.updateDataset({ datasetName: 'other', name: 'renamed' })).rejects.toThrow(
      /already exists/,
    );
    await client.deleteDataset({ datasetName: 'other' });
    expect(await client.hasDataset({ datasetName: 'other' })).toBe(false);
    expect(await client.createDataset('other')).toMatchObject({ name: 'other' });
  });

  it('takes a dataset as clients before 0.3 send it', async () => {
    const sent = {
      name: 'early',
      data_type: 'kv',
      created_at: '2024-11-04T10:00:00.5',
      extra: { metadata: {} },
    };
    const { status, json } = await tenant.call('POST', '/datasets', sent);
    expect([status, json.name]).toEqual([200, 'early']);
    expect(json.created_at).not.toContain('2024');
  });

  it('lists all examples in the order in which they were sent, over pages', async () => {
    const { id } = await client.createDataset('many');
    const sent = Array.from({ length: EXAMPLES }, (_, n) => ({
      dataset_id: id,
      inputs: { n },
      outputs: { twice: 2 * n },
      metadata: { third: n % 3, n },
      ...(n % 2 === 0 ? { split: n % 4 === 0 ? ['even', 'fourth'] : 'even' } : {}),
    }));
    const form = new FormData();
    for (const { dataset_id: _, inputs, outputs, ...own } of sent) {
      const part = (value: object) => new Blob([JSON.stringify(value)], { type: 'application/json' });
      const name = randomUUID();
      form.append(name, part(own));
      form.append(`${name}.inputs`, part(inputs));
      form.append(`${name}.outputs`, part(outputs));
    }
    const answer = await upload('POST', id, form);
    expect([answer.status, answer.json]).toMatchObject([201, { count: EXAMPLES }]);
    const list = (search: object = {}) => all(client.listExamples({ datasetId: id, ...search }));
    const examples = await list();
    expect(numbers(examples)).toEqual(sent.map((_, n) => n));
    expect(examples[4]).toEqual({
      id: answer.json.example_ids[4],
      dataset_id: id,
      name: null,
      source_run_id: null,
      inputs: { n: 4 },
      outputs: { twice: 8 },
      metadata: { dataset_split: ['even', 'fourth'], third: 1, n: 4 },
      created_at: answer.json.as_of,
      modified_at: answer.json.as_of,
    });
    expect(examples[1]?.metadata).toEqual({ dataset_split: ['base'], third: 1, n: 1 });
    expect(numbers(await list({ limit: 3, offset: 99 }))).toEqual([99, 100, 101]);
    expect(numbers(await list({ splits: ['fourth'] }))).toEqual(
      sent.map((_, n) => n).filter((n) => n % 4 === 0),
    );
    expect(numbers(await list({ metadata: { third: 2 }, limit: 2 }))).toEqual([2, 5]);
    expect(numbers(await list({ exampleIds: [answer.json.example_ids[7]] }))).toEqual([7]);
    expect(await client.listDatasetSplits({ datasetId: id })).toEqual(['base', 'even', 'fourth']);
    expect((await client.readDataset({ datasetId: id })).example_count).toBe(EXAMPLES);
  });

  it('reads every version as it was', async () => {
    const { id } = await client.createDataset('versions');
    const create = async (n: number): Promise<string> =>
      (await client.createExample({ n }, { ok: true }, { datasetId: id, metadata: { m: n } })).id;
    const [one, two, three] = [await create(1), await create(2), await create(3)];
    const first = await client.readDatasetVersion({ datasetId: id, tag: 'latest' });
    await client.updateDatasetTag({ datasetId: id, asOf: first.as_of, tag: 'prod' });
    await client.updateExample({ id: one, inputs: { n: 10 }, split: 'test' });
    await client.deleteExample(two);
    await create(4);
    const list = async (asOf?: string | Date) => {
      const search = asOf === undefined ? {} : { asOf };
      return numbers(await all(client.listExamples({ datasetId: id, ...search })));
    };
    expect(await list()).toEqual([10, 3, 4]);
    expect(await list('latest')).toEqual([10, 3, 4]);
    expect(await list('prod')).toEqual([1, 2, 3]);
    expect(await list(first.as_of)).toEqual([1, 2, 3]);
    expect(await list(new Date(first.as_of))).toEqual([1, 2, 3]);
    expect(await list(new Date(Date.parse(first.as_of) - 1))).toEqual([1, 2]);
    expect(await list('2020-01-01')).toEqual([]);
    const versions = (await tenant.call('GET', `/datasets/${id}/versions`)).json as { tags: string[] }[];
    expect(versions.map(({ tags }) => tags)).toEqual([['latest'], [], [], ['prod'], [], []]);
    expect(await client.readDatasetVersion({ datasetId: id, tag: 'prod' })).toEqual({
      as_of: first.as_of,
      tags: ['prod'],
    });
    const diff = await client.diffDatasetVersions({
      datasetId: id,
      fromVersion: 'prod',
      toVersion: 'latest',
    });
    expect(diff).toMatchObject({ examples_modified: [one], examples_removed: [two] });
    expect(await client.readExample(one)).toMatchObject({
      inputs: { n: 10 },
      outputs: { ok: true },
      metadata: { dataset_split: ['test'], m: 1 },
    });
    expect((await tenant.call('GET', `/examples/${one}?as_of=prod`)).json.inputs).toEqual({ n: 1 });
    await expect(client.readExample(two)).rejects.toThrow(/not found/);
    await client.deleteExamples([two, three], { hardDelete: true });
    expect(await list('prod')).toEqual([1]);
    expect((await client.readDataset({ datasetId: id })).example_count).toBe(2);
  });

  it('moves examples between splits as a version', async () => {
    const { id } = await client.createDataset('splits');
    const examples = await client.createExamples([1, 2].map((n) => ({ dataset_id: id, inputs: { n } })));
    const [one, two] = examples.map((example) => example.id) as [string, string];
    const move = (exampleIds: string[], remove: boolean) =>
      client.updateDatasetSplits({ datasetId: id, splitName: 'train', exampleIds, remove });
    await move([one, two], false);
    await move([two], true);
    const split = async (of: string) => (await client.readExample(of)).metadata?.['dataset_split'];
    expect([await split(one), await split(two)]).toEqual([['base', 'train'], ['base']]);
    await expect(move([randomUUID()], false)).rejects.toThrow(/not found/);
  });

  it('answers the bytes that came', async () => {
    const { id } = await client.createDataset('bytes');
    const inputs =
      '{"big": 12345678901234567890.10, "nul": "\\u0000", "half": "\\ud83d\\ude00", "a": 1, "a": 2}';
    const name = randomUUID();
    const form = new FormData();
    form.append(name, new Blob(['{"metadata": { "x": 1.0 } , "created_at": "2026-01-01T00:00:00.000001"}']));
    form.append(`${name}.inputs`, new Blob([inputs]));
    form.append(`${name}.outputs`, new Blob(['{"cut": "\\ud83d", "v": NaN}']));
    const answer = await upload('POST', id, form);
    expect(answer.json.mended).toEqual([
      { loc: ['body', name, 'outputs'], msg: expect.stringContaining('NaN'), type: 'not_finite' },
    ]);
    const { text } = await tenant.call('GET', `/examples/${name}`);
    expect(text).toContain(`"inputs":${inputs}`);
    expect(text).toContain('"outputs":{"cut": "\\ufffd", "v": null}');
    expect(text).toContain('"metadata":{"dataset_split":["base"], "x": 1.0 }');
    expect(text).toContain('"created_at":"2026-01-01T00:00:00.000001Z"');
    expect(
      (await tenant.call('GET', `/examples?dataset=${id}&metadata=%7B%22x%22%3A1%7D`)).json,
    ).toHaveLength(1);
    expect(
      (await tenant.call('GET', `/examples?dataset=${id}&select=outputs&exclude_default_fields=True`)).text,
    ).toBe(`[{"id":"${name}","outputs":{"cut": "\\ufffd", "v": null}}]`);
  });

  it.each<[string, (id: string) => Record<string, string>, (string | number)[], string]>([
    [
      'attachments of its run',
      (id) => ({ [id]: '{"use_source_run_attachments": ["a"]}' }),
      ['ID', 'use_source_run_attachments'],
      'not_supported',
    ],
    ['a name that is no id', () => ({ 'x.inputs': '{}' }), ['x.inputs'], 'value_error'],
    ['inputs that are no object', (id) => ({ [`${id}.inputs`]: '[1]' }), ['ID', 'inputs'], 'json_invalid'],
    ['inputs that are no JSON', (id) => ({ [`${id}.inputs`]: '{"a": }' }), ['ID', 'inputs'], 'json_invalid'],
    [
      'inputs that are nested too deeply',
      (id) => ({ [`${id}.inputs`]: `{"a":${'['.repeat(126)}${']'.repeat(126)}}` }),
      ['ID', 'inputs'],
      'json_invalid',
    ],
    [
      'metadata that are no object',
      (id) => ({ [id]: '{"metadata": 1}' }),
      ['ID', 'metadata'],
      'json_invalid',
    ],
    [
      'metadata that are too large',
      (id) => ({ [id]: `{"metadata": {"a": "${'x'.repeat(65_536)}"}}` }),
      ['ID', 'metadata'],
      'too_long',
    ],
    ['an unknown member', (id) => ({ [id]: '{"name": "x"}' }), ['ID', 'name'], 'extra_forbidden'],
    ['a split that is no name', (id) => ({ [id]: '{"split": [1]}' }), ['ID', 'split'], 'value_error'],
    ['a split with U+0000', (id) => ({ [id]: '{"split": "\\u0000"}' }), ['ID', 'split'], 'value_error'],
    [
      'a time that is none',
      (id) => ({ [id]: '{"created_at": "soon"}' }),
      ['ID', 'created_at'],
      'datetime_parsing',
    ],
  ])('refuses %s, and the whole upload with it', async (_, parts, loc, type) => {
    const dataset = await refusing();
    const id = randomUUID();
    const form = new FormData();
    form.append(randomUUID(), new Blob(['{}']));
    for (const [name, text] of Object.entries(parts(id))) form.append(name, new Blob([text]));
    const { status, json } = await upload('POST', dataset, form);
    const place = loc.map((part) => (typeof part === 'string' ? part.replace('ID', id) : part));
    expect([status, json.detail]).toEqual([
      422,
      [{ loc: ['body', ...place], msg: expect.any(String), type }],
    ]);
    expect((await tenant.call('GET', `/examples?dataset=${dataset}`)).json).toEqual([]);
  });

  it('refuses ids that are taken, and examples and datasets that are not there', async () => {
    const dataset = await refusing();
    const other = await client.createDataset('taken');
    const taken = await client.createExample({ n: 1 }, {}, { datasetId: other.id });
    const form = (...ids: string[]): FormData => {
      const made = new FormData();
      for (const id of ids) made.append(id, new Blob(['{}']));
      return made;
    };
    expect((await upload('POST', dataset, form(randomUUID(), taken.id))).status).toBe(409);
    expect((await upload('PATCH', dataset, form(taken.id))).status).toBe(404);
    expect((await upload('POST', randomUUID(), form(randomUUID()))).status).toBe(404);
    expect((await upload('POST', dataset, form())).status).toBe(400);
    const twice = form(taken.id);
    twice.append(taken.id, new Blob(['{}']));
    expect((await upload('PATCH', other.id, twice)).status).toBe(422);
    await expect(client.deleteExamples([taken.id, randomUUID()])).rejects.toThrow(/not found/);
    expect((await client.readExample(taken.id)).inputs).toEqual({ n: 1 });
    const status = async (path: string) => (await tenant.call('GET', path)).status;
    expect(await status('/examples')).toBe(422);
    expect(await status(`/examples?dataset=${dataset}&filter=x`)).toBe(422);
    expect(await status(`/examples?dataset=${dataset}&order=random`)).toBe(422);
    expect(await status(`/examples?dataset=${dataset}&as_of=none`)).toBe(404);
    expect(await status(`/examples?dataset=${randomUUID()}`)).toBe(404);
    expect(await status(`/datasets/${dataset}/version?tag=latest`)).toBe(404);
    expect(await status(`/datasets/${dataset}/version`)).toBe(422);
  });

  it('numbers experiments, and leaves them as projects when their dataset goes', async () => {
    const { id } = await client.createDataset('examined');
    const make = async (projectName: string, referenceDatasetId = id) =>
      (await client.createProject({ projectName, referenceDatasetId, numExamples: 2, evaluatorKeys: ['k'] }))
        .id;
    const [first, second] = [await make('first'), await make('second')];
    await client.createProject({ projectName: 'free' });
    await client.updateProject(second, { metadata: { dataset_version: 'v2' } });
    const session = async (of: string) => (await tenant.call('GET', `/sessions/${of}`)).json;
    expect(await session(second)).toMatchObject({ reference_dataset_id: id, test_run_number: 2 });
    const names = async (search: Parameters<Client['listProjects']>[0]) =>
      (await all(client.listProjects(search))).map(({ name }) => name);
    expect(await names({ referenceDatasetId: id })).toEqual(['second', 'first']);
    expect(await names({ referenceDatasetName: 'examined', datasetVersion: 'v2' })).toEqual(['second']);
    expect(await names({ referenceFree: true })).toEqual(['free']);
    await client.deleteProject({ projectId: first });
    const dataset = await client.readDataset({ datasetId: id });
    expect(dataset).toMatchObject({ session_count: 1, last_session_start_time: expect.any(String) });
    await expect(make('third', randomUUID())).rejects.toThrow(/Dataset .* not found/);
    await client.deleteDataset({ datasetId: id });
    expect(await session(second)).toMatchObject({ name: 'second', reference_dataset_id: null });
    await expect(make('fourth')).rejects.toThrow(/Dataset .* not found/);
  });

  it('hides datasets and examples of other workspaces, and shares no name with them', async () => {
    const { id } = await client.createDataset('mine');
    const example = await client.createExample({ n: 1 }, {}, { datasetId: id });
    const other = await api.workspace();
    const theirs = new Client({ apiUrl: api.url, apiKey: other.key });
    expect(await theirs.hasDataset({ datasetId: id })).toBe(false);
    await expect(theirs.readExample(example.id)).rejects.toThrow(/not found/);
    await expect(theirs.deleteExamples([example.id], { hardDelete: true })).rejects.toThrow(/not found/);
    await expect(theirs.deleteDataset({ datasetId: id })).rejects.toThrow(/not found/);
    const named = await theirs.createDataset('mine');
    expect(
      (await theirs.createExample({ n: 2 }, {}, { datasetId: named.id, exampleId: example.id })).inputs,
    ).toEqual({
      n: 2,
    });
    expect((await client.readExample(example.id)).inputs).toEqual({ n: 1 });
  });

  let refusingId: string | undefined;
  async function refusing(): Promise<string> {
    refusingId ??= (await client.createDataset('refusing')).id;
    return refusingId;
  }

  async function upload(method: string, datasetId: string, form: FormData) {
    const url = `${api.url}/v1/platform/datasets/${datasetId}/examples`;
    const answer = await fetch(url, { method, headers: { 'x-api-key': tenant.key }, body: form });
    // eslint-disable-next-line @typescript-eslint/no-explicit-any
    return { status: answer.status, json: (await answer.json()) as any };
  }
});
