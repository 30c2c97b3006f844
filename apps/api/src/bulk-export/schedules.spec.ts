import { randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { type BulkExport, idOf, RESOURCES } from '#lib/resources';
import { waitFor } from '#lib/testing';
import { testApi } from '../testdata/test-api.js';
import { testBucket } from '../testdata/test-bucket.js';

const WINDOW = { start_time: '2026-11-01T00:00:00Z', interval_hours: 24 };
const PATH = '/api/v1/bulk-exports';
const UUID = expect.stringMatching(/^[0-9a-f-]{36}$/);

describe('the routes of scheduled exports', () => {
  const running = testApi();
  const { api, tenant } = running;
  const bucket = testBucket(running);

  const create = async (over: object = {}) =>
    tenant.call('POST', PATH, { ...bucket.request, ...WINDOW, ...over });
  const resource = async (id: string): Promise<BulkExport> => {
    const { items } = await api.client.list(RESOURCES.BulkExport, { namespace: tenant.namespace });
    const found = items.find((one) => idOf(one) === id);
    if (!found) throw new Error(`no BulkExport has the id ${id}`);
    return found;
  };
  /** Writes the status that the controller would report. */
  async function report(id: string, status: object): Promise<void> {
    const { name } = (await resource(id)).metadata;
    await api.client.mergeStatus(RESOURCES.BulkExport, { namespace: tenant.namespace, name }, { status });
  }

  it.each([1, 168])('takes an interval of %s hours without an end', async (hours) => {
    const made = await create({
      interval_hours: hours,
      filter: 'eq(status, "error")',
      export_fields: ['id'],
    });
    expect(made.status).toBe(200);
    expect(made.json).toMatchObject({
      id: UUID,
      status: 'CREATED',
      interval_hours: hours,
      end_time: null,
      source_bulk_export_id: null,
      schedule: { paused: false, next_end_time: null, windows_behind: 0 },
    });
    expect((await resource(made.json.id)).spec).toMatchObject({
      intervalHours: hours,
      filter: 'eq(status, "error")',
      exportFields: ['id'],
    });
  });

  it.each([0, 169, 1.5])('refuses an interval of %s hours', async (hours) =>
    expect((await create({ interval_hours: hours })).status).toBe(422),
  );

  it('shows a live schedule as RUNNING with its next window and how late it is', async () => {
    const { id } = (await create()).json;
    const end = new Date(Date.now() - 90_000).toISOString();
    await report(id, { spawnedUntil: '2026-11-02T00:00:00Z', nextSpawn: end, windowsBehind: 1 });
    const shown = await waitFor(async () => {
      const { json } = await tenant.call('GET', `${PATH}/${id}`);
      return json.status === 'RUNNING' && json;
    });
    expect(shown).toMatchObject({
      end_time: null,
      finished_at: null,
      schedule: {
        paused: false,
        next_start_time: '2026-11-02T00:00:00Z',
        next_end_time: end,
        windows_behind: 1,
      },
    });
    expect(shown.schedule.lag_seconds).toBeGreaterThanOrEqual(90);
    expect((await tenant.call('GET', `${PATH}/${id}/runs`)).json).toEqual([]);
  });

  it('names the schedule of an export that one made, also after the schedule is deleted', async () => {
    const { id } = (await create()).json;
    const { spec, metadata } = await resource(id);
    const { intervalHours: _, ...carried } = spec;
    await api.client.create(RESOURCES.BulkExport, {
      metadata: { name: 'made-by-it', namespace: tenant.namespace },
      spec: { ...carried, endTime: '2026-11-02T00:00:00Z', sourceExport: { id } },
    });
    await api.client.delete(RESOURCES.BulkExport, { namespace: tenant.namespace, name: metadata.name });
    const made = await waitFor(async () =>
      (await tenant.call('GET', PATH)).json.find(
        (one: { source_bulk_export_id: string | null }) => one.source_bulk_export_id === id,
      ),
    );
    expect(made).toMatchObject({ source_trigger: 'interval', interval_hours: null, schedule: null });
  });

  it('pauses, resumes and cancels', async () => {
    const { id } = (await create()).json;
    const patch = (change: object) => tenant.call('PATCH', `${PATH}/${id}`, change);
    expect((await patch({ paused: true })).json.schedule.paused).toBe(true);
    expect((await patch({ paused: true })).status).toBe(200);
    expect((await patch({ paused: false })).json.schedule.paused).toBe(false);
    expect((await patch({ status: 'Cancelled' })).json.status).toBe('CANCELLED');
    expect((await patch({ paused: true })).status).toBe(400);
    expect((await patch({ run_now: true })).status).toBe(400);
  });

  it('asks for one more export on run_now, and only of a schedule', async () => {
    const { id } = (await create()).json;
    expect((await tenant.call('PATCH', `${PATH}/${id}`, { run_now: true })).status).toBe(200);
    const first = (await resource(id)).spec.runRequest?.id;
    await tenant.call('PATCH', `${PATH}/${id}`, { run_now: true });
    const second = (await resource(id)).spec.runRequest?.id;
    expect([first, second]).toEqual([UUID, UUID]);
    expect(second).not.toBe(first);
    const plain = (await create({ interval_hours: null, end_time: '2026-11-02T00:00:00Z' })).json;
    const refused = await tenant.call('PATCH', `${PATH}/${plain.id}`, { run_now: true });
    expect([refused.status, refused.json.detail]).toEqual([
      400,
      'Only a schedule can be run now; the export has no interval_hours',
    ]);
  });

  it('moves to another destination, and an export does not', async () => {
    const { id } = (await create()).json;
    const other = await bucket.makeDestination();
    const move = (of: string, to: string) =>
      tenant.call('PATCH', `${PATH}/${of}`, { bulk_export_destination_id: to });
    const moved = await move(id, other);
    expect([moved.status, moved.json.bulk_export_destination_id]).toEqual([200, other]);
    expect((await move(id, other)).status).toBe(200);
    expect((await move(id, randomUUID())).status).toBe(404);
    const plain = (await create({ interval_hours: null, end_time: '2026-11-02T00:00:00Z' })).json;
    const refused = await move(plain.id, other);
    expect([refused.status, refused.json.detail]).toEqual([
      400,
      'Only a schedule can be given another destination; the export has no interval_hours',
    ]);
    await tenant.call('PATCH', `${PATH}/${id}`, { status: 'Cancelled' });
    expect((await move(id, bucket.request.bulk_export_destination_id)).status).toBe(400);
  });

  it('keeps its destination from being deleted until it is moved or cancelled, or force is given', async () => {
    const destination = await bucket.makeDestination();
    const { id } = (await create({ bulk_export_destination_id: destination })).json;
    const remove = (query = '') => tenant.call('DELETE', `${PATH}/destinations/${destination}${query}`);
    const { name } = (await resource(id)).metadata;
    const refused = await remove();
    expect([refused.status, refused.json.detail]).toEqual([
      409,
      expect.stringMatching(
        new RegExp(
          `^deleting the destination failed: BulkExportDestination bucket-\\S+ is used by schedule ${name} \\(${id}\\);`,
        ),
      ),
    ]);
    expect((await remove('?force=false')).status).toBe(409);
    await tenant.call('PATCH', `${PATH}/${id}`, {
      bulk_export_destination_id: bucket.request.bulk_export_destination_id,
    });
    expect((await remove()).status).toBe(204);
    const next = await bucket.makeDestination();
    await create({
      bulk_export_destination_id: next,
      interval_hours: null,
      end_time: '2026-11-02T00:00:00Z',
    });
    expect((await tenant.call('DELETE', `${PATH}/destinations/${next}`)).status).toBe(409);
    expect((await tenant.call('DELETE', `${PATH}/destinations/${next}?force=true`)).status).toBe(204);
  });

  it.each([{}, { status: 'Cancelled', paused: true }, { paused: true, run_now: true }])(
    'refuses a change with no field or several of them: %j',
    async (change) => {
      const { id } = (await create()).json;
      const answer = await tenant.call('PATCH', `${PATH}/${id}`, change);
      expect([answer.status, answer.json.detail[0].msg]).toEqual([
        422,
        'Give exactly one of status, paused, run_now, bulk_export_destination_id',
      ]);
    },
  );
});
