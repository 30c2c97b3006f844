import { randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { testTraceStore } from '../../testdata/test-trace-store.js';

const TENANT = randomUUID();

describe('a dataset', () => {
  const database = testTraceStore({ poolSize: 6, maxDatasets: 3 });

  const create = (name: string, tenant = TENANT) =>
    database.store.datasets.create(tenant, { name, dataType: 'kv' });
  const examples = (count: number) =>
    Array.from({ length: count }, (_, n) => ({ id: randomUUID(), inputs: Buffer.from(`{"n": ${n}}`) }));
  const count = async (table: string, dataset: string): Promise<number> => {
    const text = `SELECT count(*)::int AS n FROM ${table} WHERE dataset_id = $1`;
    return (await database.client.query<{ n: number }>(text, [dataset])).rows[0]?.n ?? -1;
  };
  const outcomes = async (work: readonly Promise<unknown>[]) =>
    (await Promise.allSettled(work)).map((one) => (one.status === 'fulfilled' ? 'done' : one.reason.code));

  it('refuses one more than the tenant may have, also when several come at once', async () => {
    const tenant = randomUUID();
    const all = await outcomes(['a', 'b', 'c', 'd', 'a'].map((name) => create(name, tenant)));
    expect(all.filter((one) => one === 'done')).toHaveLength(3);
    expect(await database.store.datasets.list(tenant, { limit: 10, offset: 0 })).toHaveLength(3);
    await expect(create('e', tenant)).rejects.toThrow(/has 3 datasets, the most that it may/);
  });

  it('gets its versions one after another when several change it at once', async () => {
    const { id } = await create('changed at once');
    const batches = Array.from({ length: 8 }, () => examples(250));
    const made = await Promise.all(batches.map((batch) => database.store.examples.add(TENANT, id, batch)));
    const times = made.map(({ asOf }) => asOf).sort();
    expect(new Set(times).size).toBe(8);
    for (const [at, asOf] of times.entries()) {
      const search = { datasetId: id, asOf: { kind: 'time', time: asOf }, limit: 3_000, offset: 0 } as const;
      const rows = await database.store.examples.search(TENANT, search);
      expect(rows).toHaveLength(250 * (at + 1));
      expect(new Set(rows.map(({ ordinal }) => ordinal)).size).toBe(rows.length);
    }
    expect((await database.store.datasets.find(TENANT, id))?.exampleCount).toBe(2_000);
    const [one] = await database.store.datasetVersions.list(TENANT, id, { limit: 1, offset: 0 });
    expect(one).toEqual({ asOf: times.at(-1), tags: ['latest'] });
    const [batch = []] = batches;
    const all = await outcomes(
      batch.slice(0, 4).map((first, by) => {
        const outputs = Buffer.from(`{"by":${by}}`);
        const changes = [first, ...batch.slice(4)].map((example) => ({ ...example, outputs }));
        return database.store.examples.change(TENANT, id, changes);
      }),
    );
    expect(all).toEqual(['done', 'done', 'done', 'done']);
    expect(await count('example_versions', id)).toBe(2_000 + 4 * 247);
  });

  it('lists its newest versions and those with tags, and forgets the oldest others', async () => {
    const { id } = await create('written often');
    const [first = { id: '' }] = examples(1);
    const { asOf } = await database.store.examples.add(TENANT, id, [{ ...first, inputs: Buffer.from('{}') }]);
    await database.store.datasetVersions.tag(TENANT, id, asOf, 'begun');
    await database.client.query(
      `INSERT INTO dataset_versions SELECT tenant_id, dataset_id, as_of - n * interval '1 minute'
      FROM dataset_versions, generate_series(1, 101000) AS n WHERE dataset_id = $1`,
      [id],
    );
    await database.client.query('UPDATE datasets SET listed_versions = 101001 WHERE id = $1', [id]);
    await database.client.query(
      `INSERT INTO dataset_tags SELECT tenant_id, dataset_id, 'oldest', min(as_of)
      FROM dataset_versions WHERE dataset_id = $1 GROUP BY 1, 2`,
      [id],
    );
    await database.store.examples.add(TENANT, id, examples(1));
    expect(await count('dataset_versions', id)).toBe(101_002 - 1_000);
    const { rows } = await database.client.query<{ listed_versions: string }>(
      'SELECT listed_versions FROM datasets WHERE id = $1',
      [id],
    );
    expect(rows).toEqual([{ listed_versions: '100002' }]);
    for (const tag of ['begun', 'oldest', 'latest'])
      expect((await database.store.datasetVersions.get(TENANT, id, { kind: 'tag', tag })).tags).toContain(
        tag,
      );
    await database.store.examples.add(TENANT, id, examples(1));
    expect(await count('dataset_versions', id)).toBe(100_003);
  });

  it('keeps an id for one example when two datasets are given it at once', async () => {
    const tenant = randomUUID();
    const [one, other] = [await create('one', tenant), await create('other', tenant)];
    const some = examples(1);
    const all = await outcomes([one, other].map(({ id }) => database.store.examples.add(tenant, id, some)));
    expect(all.sort()).toEqual(['conflict', 'done']);
    const found = [
      await database.store.datasets.find(tenant, one.id),
      await database.store.datasets.find(tenant, other.id),
    ];
    expect(found.map((dataset) => dataset?.exampleCount).sort()).toEqual([0, 1]);
  });

  it('stores nothing of a batch that has one conflict', async () => {
    const tenant = randomUUID();
    const { id } = await create('whole', tenant);
    const [taken] = examples(1);
    await database.store.examples.add(tenant, id, [taken!]);
    await expect(database.store.examples.add(tenant, id, [...examples(300), taken!])).rejects.toThrow(
      taken!.id,
    );
    expect(await count('example_versions', id)).toBe(1);
    expect(await count('dataset_versions', id)).toBe(1);
  });

  it('goes though removing one of another tenant, marked before it, fails', async () => {
    const [tenant, other] = [randomUUID(), randomUUID()];
    const [failing, marked] = [await create('failing', other), await create('marked', tenant)];
    await database.client.query(
      `UPDATE datasets SET deleted_at = clock_timestamp() - CASE id WHEN $1 THEN interval '2 hours' ELSE '1 hour' END
      WHERE id = ANY ($2)`,
      [failing.id, [failing.id, marked.id]],
    );
    await database.client.query(
      `CREATE FUNCTION keep_dataset() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''kept''; END';
      CREATE TRIGGER keep_dataset BEFORE DELETE ON datasets
        FOR EACH ROW WHEN (OLD.name = 'failing') EXECUTE FUNCTION keep_dataset()`,
    );
    await expect(database.store.tidy()).rejects.toThrow('kept');
    await database.client.query('DROP FUNCTION keep_dataset CASCADE');
    const { rows } = await database.client.query('SELECT name FROM datasets WHERE id = ANY ($1)', [
      [failing.id, marked.id],
    ]);
    expect(rows).toEqual([{ name: 'failing' }]);
  });

  it('goes with all its rows when tidying finds it marked, and nothing else goes', async () => {
    const tenant = randomUUID();
    const [marked, kept] = [await create('marked', tenant), await create('kept', tenant)];
    for (const { id } of [marked, kept]) await database.store.examples.add(tenant, id, examples(1_200));
    // as a process leaves it that was killed between the two steps
    await database.client.query(
      `UPDATE datasets SET deleted_at = clock_timestamp() - interval '6 minutes' WHERE id = $1`,
      [marked.id],
    );
    expect(await database.store.datasets.find(tenant, marked.id)).toBeUndefined();
    await expect(database.store.examples.add(tenant, marked.id, examples(1))).rejects.toThrow(/not found/);
    expect(await create('marked', tenant)).toMatchObject({ name: 'marked' });
    await database.store.tidy();
    expect(await count('example_versions', marked.id)).toBe(0);
    expect((await database.client.query('SELECT FROM datasets WHERE id = $1', [marked.id])).rowCount).toBe(0);
    expect(await count('example_versions', kept.id)).toBe(1_200);
    expect(await database.store.datasets.delete(tenant, kept.id)).toBe(true);
    expect(await count('example_versions', kept.id)).toBe(0);
    expect(await database.store.datasets.delete(tenant, kept.id)).toBe(false);
  });

  it.each([
    [
      'example_versions_listed',
      `dataset_id = md5('d7')::uuid AND until IS NULL ORDER BY dataset_id, ordinal LIMIT 100`,
    ],
    ['example_versions_current', `id = ANY (ARRAY[md5('e7')::uuid]) AND until IS NULL LIMIT 1`],
    ['example_versions_id', `id = md5('e7')::uuid AND since <= now() AND (until IS NULL OR until > now())`],
    [
      'example_versions_pkey',
      `dataset_id = md5('d7')::uuid AND since <= now() ORDER BY dataset_id, ordinal LIMIT 100`,
    ],
  ])('uses the index %s', async (index, condition) => {
    await database.client
      .query(`INSERT INTO example_versions (tenant_id, dataset_id, ordinal, since, until, id, created_at, splits)
      SELECT '${TENANT}', md5('d' || n % 20)::uuid, n / 3, now() + n * interval '1 s', CASE WHEN n % 3 > 0 THEN now() END,
        md5('e' || n / 3)::uuid, now(), '{}' FROM generate_series(1, 6000) n ON CONFLICT DO NOTHING;
      ANALYZE example_versions`);
    const { rows } = await database.client.query<{ 'QUERY PLAN': string }>(
      `EXPLAIN SELECT * FROM example_versions WHERE tenant_id = '${TENANT}' AND ${condition}`,
    );
    expect(rows.map((row) => row['QUERY PLAN']).join('\n')).toContain(index);
  });

  it('finds its experiments, its tags and deletions by an index', async () => {
    await database.client
      .query(`INSERT INTO dataset_tags SELECT '${TENANT}', '${TENANT}', 'tag ' || n, now() + n * interval '1 s'
      FROM generate_series(1, 3000) n; ANALYZE dataset_tags; SET enable_seqscan = off`);
    const plan = async (query: string): Promise<string> =>
      (await database.client.query<{ 'QUERY PLAN': string }>(`EXPLAIN ${query}`)).rows
        .map((row) => row['QUERY PLAN'])
        .join('\n');
    const of = `tenant_id = '${TENANT}'`;
    expect(
      await plan(`SELECT count(*) FROM projects WHERE ${of} AND reference_dataset_id = '${TENANT}'`),
    ).toContain('projects_dataset');
    expect(
      await plan(`SELECT tag FROM dataset_tags WHERE ${of} AND dataset_id = '${TENANT}' AND as_of = now()`),
    ).toContain('dataset_tags_version');
    expect(await plan('SELECT id FROM datasets WHERE deleted_at < now() ORDER BY deleted_at')).toContain(
      'datasets_deleted',
    );
    expect(await plan(`SELECT id FROM datasets WHERE ${of} AND name = 'a' AND deleted_at IS NULL`)).toContain(
      'datasets_name',
    );
  });
});
