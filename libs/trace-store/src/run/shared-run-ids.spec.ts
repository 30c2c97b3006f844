import { randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { testTraceStore } from '../../testdata/test-trace-store.js';
import { recordDeletion } from '../project/project-deletions.js';

const START = '2026-11-20T10:00:00Z';
const [MINE, THEIRS] = ['mine', 'theirs'];

describe('what belongs to a run whose id another project has, too', () => {
  const db = testTraceStore();
  let [tenant, run, mine, theirs] = ['', '', '', ''];
  const traces = new Map<string, string>();

  beforeEach(async () => {
    [tenant, run] = [randomUUID(), randomUUID()];
    const post = [MINE, THEIRS].map((project) => {
      const trace = randomUUID();
      traces.set(project, trace);
      const named = { id: run, trace_id: trace, parent_run_id: trace, name: 'r', run_type: 'chain' };
      return { run: Buffer.from(JSON.stringify({ ...named, start_time: START, session_name: project })) };
    });
    await db.store.ingest(tenant, { post, patch: [] });
    const idOf = async (name: string) => (await db.store.projects.find(tenant, { name }))?.id ?? '';
    [mine, theirs] = [await idOf(MINE), await idOf(THEIRS)];
  });

  const mint = async (project?: string): Promise<string> => {
    const asked = { runId: run, key: 'k', config: undefined, feedbackId: undefined, seconds: 60, place: [] };
    return (await db.store.feedbackTokens.mint(tenant, [asked], project))[0]?.token ?? '';
  };
  const isGood = async (token: string) => (await db.store.feedbackTokens.find(token)) !== undefined;
  const erase = (project: string, projectId: string) =>
    db.store.erasures.erase(tenant, projectId, { traceIds: [traces.get(project) ?? ''], threadIds: [] });

  it('keeps its tokens of feedback when the other run is deleted, and loses them with its own', async () => {
    const [ofMine, ofTheirs, ofAny] = [await mint(mine), await mint(theirs), await mint()];
    await erase(MINE, mine);
    expect(await Promise.all([ofMine, ofTheirs, ofAny].map(isGood))).toEqual([false, true, true]);
    await erase(THEIRS, theirs);
    expect(await Promise.all([ofTheirs, ofAny].map(isGood))).toEqual([false, false]);
  });

  it('loses its tokens with its project, at once', async () => {
    const [ofMine, ofTheirs] = [await mint(mine), await mint(theirs)];
    await recordDeletion(db.client, tenant, mine);
    expect([await isGood(ofMine), await isGood(ofTheirs)]).toEqual([false, true]);
  });

  it('loses its attachments with its project, at once', async () => {
    const [ofMine, ofTheirs] = [randomUUID(), randomUUID()];
    for (const [object, project, name] of [
      [ofMine, mine, 'a'],
      [ofTheirs, theirs, 'b'],
    ] as const) {
      await db.client.query(
        `INSERT INTO attachment_objects (tenant_id, id, sha256, size, state) VALUES ($1, $2, $3, 1, 'stored')`,
        [tenant, object, Buffer.from(object)],
      );
      await db.client.query(
        `INSERT INTO attachments (tenant_id, run_id, name, trace_id, project_id, start_time, content_type, object_id)
        SELECT tenant_id, id, $4, trace_id, project_id, start_time, 'text/plain', $3 FROM run_keys WHERE id = $1 AND project_id = $2`,
        [run, project, object, name],
      );
    }
    await recordDeletion(db.client, tenant, mine);
    const found = await Promise.all(
      [ofMine, ofTheirs].map((id) => db.store.attachments.find(tenant, run, id)),
    );
    expect(found.map((one) => one?.objectId)).toEqual([undefined, ofTheirs]);
  });
});
