import { randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { testTraceStore } from '../../testdata/test-trace-store.js';

const MIB = 1024 * 1024;

describe('a payload of an example', () => {
  const db = testTraceStore({ maxDatasetBytes: 4 * MIB });

  const dataset = async (tenant: string, name = 'd') =>
    (await db.store.datasets.create(tenant, { name, dataType: 'kv' })).id;
  const json = (bytes: number, fill = 'x') => Buffer.from(JSON.stringify({ text: fill.repeat(bytes) }));
  /** Bytes of all text that the tables of examples hold. */
  const held = async (datasetId: string): Promise<number> => {
    const { rows } = await db.client.query<{ bytes: string }>(
      `SELECT (SELECT coalesce(sum(octet_length(to_jsonb(e)::text)), 0) FROM example_versions e WHERE dataset_id = $1)
        + (SELECT coalesce(sum(octet_length(content)), 0) FROM example_payloads WHERE dataset_id = $1) AS bytes`,
      [datasetId],
    );
    return Number(rows[0]?.bytes);
  };
  const counted = async (datasetId: string): Promise<number> =>
    Number(
      (await db.client.query('SELECT stored_bytes FROM datasets WHERE id = $1', [datasetId])).rows[0]
        ?.stored_bytes,
    );
  const versions = async (datasetId: string): Promise<number> =>
    (await db.client.query('SELECT FROM example_versions WHERE dataset_id = $1', [datasetId])).rowCount ?? -1;
  const now = async (tenant: string, id: string) => {
    const [row] = await db.store.examples.search(tenant, { ids: [id], limit: 1, offset: 0 });
    if (!row) throw new Error(`no example ${id}`);
    const [payloads] = await db.store.examples.payloads(tenant, [row], ['metadata', 'inputs', 'outputs']);
    return { row, payloads: Object.entries(payloads ?? {}).map(([name, bytes]) => [name, bytes.length]) };
  };

  it('occupies space once whatever becomes of the splits and the metadata', async () => {
    const tenant = randomUUID();
    const datasetId = await dataset(tenant);
    const [id, other] = [randomUUID(), randomUUID()];
    const [inputs, outputs] = [json(MIB), json(MIB / 2, 'y')];
    await db.store.examples.add(tenant, datasetId, [
      { id, inputs, outputs },
      { id: other, inputs: json(10) },
    ]);
    const before = await held(datasetId);
    for (let at = 0; at < 20; at++) {
      const split = { split: `s${at % 3}`, ids: [id], isRemoved: at % 2 === 1 };
      await db.store.datasetVersions.moveSplit(tenant, datasetId, split);
      await db.store.examples.change(tenant, datasetId, [{ id, metadata: json(at) }]);
    }
    expect((await held(datasetId)) - before).toBeLessThan(40 * 1_024);
    const { row, payloads } = await now(tenant, id);
    expect(payloads).toEqual([
      ['metadata', json(19).length],
      ['inputs', inputs.length],
      ['outputs', outputs.length],
    ]);
    expect(row.bytes).toBe(json(19).length + inputs.length + outputs.length);
  });

  it('gets neither rows nor a version by a change that changes nothing', async () => {
    const tenant = randomUUID();
    const datasetId = await dataset(tenant);
    const [one, other] = [randomUUID(), randomUUID()];
    const inputs = json(100);
    const first = await db.store.examples.add(tenant, datasetId, [
      { id: one, inputs, splits: ['a'] },
      { id: other, inputs, splits: ['a'] },
    ]);
    const same = await db.store.examples.change(tenant, datasetId, [
      { id: one, inputs, splits: ['a'] },
      { id: other },
    ]);
    expect(same.asOf).toBe(first.asOf);
    for (const isRemoved of [false, true])
      await db.store.datasetVersions.moveSplit(tenant, datasetId, {
        split: isRemoved ? 'never' : 'a',
        ids: [one, other],
        isRemoved,
      });
    expect(await versions(datasetId)).toBe(2);
    expect(await db.store.datasetVersions.list(tenant, datasetId, { limit: 10, offset: 0 })).toHaveLength(1);
    const changed = await db.store.examples.change(tenant, datasetId, [
      { id: one, inputs },
      { id: other, outputs: json(1) },
    ]);
    expect(changed.asOf).toBeGreaterThan(first.asOf);
    expect(await versions(datasetId)).toBe(3);
    expect((await now(tenant, one)).row.since).toBe(first.asOf);
  });

  it('stays for earlier versions, and goes with the last one', async () => {
    const tenant = randomUUID();
    const datasetId = await dataset(tenant);
    const [id, kept] = [randomUUID(), randomUUID()];
    const { asOf } = await db.store.examples.add(tenant, datasetId, [
      { id, inputs: json(1_000) },
      { id: kept, inputs: json(1_000) },
    ]);
    await db.store.examples.change(tenant, datasetId, [{ id, inputs: json(2_000) }]);
    await db.store.examples.change(tenant, datasetId, [{ id, inputs: json(1_000) }]);
    const wanted = { datasetId, ids: [id], asOf: { kind: 'time', time: asOf } as const, limit: 1, offset: 0 };
    const former = await db.store.examples.search(tenant, wanted);
    const [payloads] = await db.store.examples.payloads(tenant, former, ['inputs']);
    expect(payloads?.inputs).toEqual(json(1_000));
    const contents = () =>
      db.client.query('SELECT content FROM example_payloads WHERE dataset_id = $1', [datasetId]);
    expect((await contents()).rowCount).toBe(3);
    await db.store.examples.delete(tenant, [id], false);
    expect((await contents()).rowCount).toBe(3);
    await db.store.examples.delete(tenant, [id], true);
    expect((await contents()).rows).toEqual([{ content: json(1_000).toString() }]);
    await db.store.examples.delete(tenant, [kept], true);
    expect(await counted(datasetId)).toBe(0);
  });

  it('counts for its workspace, up to a bound', async () => {
    const tenant = randomUUID();
    const [first, second] = [await dataset(tenant, 'a'), await dataset(tenant, 'b')];
    await db.store.examples.add(tenant, first, [{ id: randomUUID(), inputs: json(3 * MIB) }]);
    const add = (bytes: number) =>
      db.store.examples.add(tenant, second, [{ id: randomUUID(), inputs: json(bytes) }]);
    await expect(add(MIB)).rejects.toThrow(
      /adding 1048\d+ bytes to datasets failed: the workspace has 31\d+ of 4194304 bytes; delete datasets/,
    );
    await add(MIB / 2);
    const fill = randomUUID();
    await db.store.examples.add(tenant, second, [{ id: fill, inputs: json(1) }]);
    const splits = Array.from({ length: 100 }, (_, n) => `${n}`.padEnd(255, '.'));
    const grow = async () => {
      for (let at = 0; at < 100; at++)
        await db.store.examples.change(tenant, second, [
          { id: fill, splits: splits.slice(0, 99 - (at % 2)) },
        ]);
    };
    await expect(grow()).rejects.toThrow(/bytes to datasets failed/);
    expect((await counted(first)) + (await counted(second))).toBeLessThanOrEqual(4 * MIB);
    await db.store.datasets.delete(tenant, first);
    await add(MIB);
    await db.store.examples.add(tenant, second, [{ id: randomUUID(), inputs: json(MIB) }]);
  });

  it('stays below the bound when several requests add at once', async () => {
    const tenant = randomUUID();
    const ids = [await dataset(tenant, 'a'), await dataset(tenant, 'b'), await dataset(tenant, 'c')];
    const all = await Promise.allSettled(
      ids.map((id) => db.store.examples.add(tenant, id, [{ id: randomUUID(), inputs: json(1.5 * MIB) }])),
    );
    expect(all.filter(({ status }) => status === 'fulfilled')).toHaveLength(2);
  });
});
