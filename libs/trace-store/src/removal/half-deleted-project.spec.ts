import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { testTraceStore } from '../../testdata/test-trace-store.js';
import type { NewFeedback, TraceStore } from '../index.js';
import { recordDeletion } from '../project/project-deletions.js';

const [TENANT, ROOT, CHILD, TRACE] = [randomUUID(), randomUUID(), randomUUID(), randomUUID()];
const [JUDGEMENT, OBJECT] = [randomUUID(), randomUUID()];
const START = '2026-11-20T10:00:00Z';
const NONE = { limit: 10, offset: 0 };
/** Run of a model that no price matches. */
const CALL = {
  extra: { metadata: { ls_model_name: 'house' } },
  outputs: { usage_metadata: { input_tokens: 1, output_tokens: 1 } },
};

interface World {
  readonly projectId: string;
  readonly link: string;
  readonly token: string;
}

/** Data that a caller gets of the project; rows are answered by a value that shows that something exists. */
type Read = (store: TraceStore, world: World) => Promise<unknown>;

const page = { order: 'ascending', limit: 10, fields: [], maxBytes: 1e6 } as const;
const judgement = (id: string): NewFeedback =>
  ({ id, runId: ROOT, key: 'k', score: 1, place: ['body'] }) as unknown as NewFeedback;

/** Reads of every member that reads data of runs, each with its answer when nothing is there. */
const READS: Readonly<Record<string, readonly [none: unknown, read: Read]>> = {
  'projects.find': [undefined, (store, { projectId }) => store.projects.find(TENANT, { id: projectId })],
  'projects.findAll': [
    [],
    (store, { projectId }) => store.projects.findAll(TENANT, [{ kind: 'id', id: projectId }]),
  ],
  'projects.list': [[], (store) => store.projects.list(TENANT, { limit: 10, offset: 0 })],
  'runs.get': [undefined, (store) => store.runs.get(TENANT, ROOT, { totals: true })],
  'runs.search': [[], async (store) => (await store.runs.search(TENANT, { ids: [ROOT, CHILD] }, page)).runs],
  'statistics.ofRuns': [
    0,
    async (store) => (await store.statistics.ofRuns(TENANT, { traceId: TRACE })).counts.runs,
  ],
  'feedback.get': [undefined, (store) => store.feedback.get(TENANT, JUDGEMENT)],
  'feedback.list': [[], (store) => store.feedback.list(TENANT, { runIds: [ROOT] }, NONE)],
  'feedback.update': [undefined, (store) => store.feedback.update(TENANT, JUDGEMENT, { score: 2 })],
  'feedbackTokens.list': [[], (store) => store.feedbackTokens.list(TENANT, ROOT, NONE)],
  'feedbackTokens.find': [undefined, (store, { token }) => store.feedbackTokens.find(token)],
  'shares.share': [undefined, (store) => store.shares.share(TENANT, { id: ROOT })],
  'shares.find': [undefined, (store) => store.shares.find(TENANT, ROOT)],
  'shares.unshare': [false, (store) => store.shares.unshare(TENANT, { id: ROOT })],
  'shares.open': [undefined, (store, { link }) => store.shares.open(link)],
  'attachments.find': [undefined, (store) => store.attachments.find(TENANT, ROOT, OBJECT)],
  'ingestProblems.list': [
    [],
    async (store) => (await store.ingestProblems.list(TENANT, { limit: 10 })).recent,
  ],
  'priceApplications.unmatched': [
    [],
    (store, { projectId }) => {
      const from = BigInt(Date.parse(START)) * 1_000n;
      return store.priceApplications.unmatched(TENANT, { projectIds: [projectId], from, to: from + 1n });
    },
  ],
  'feedback.delete': [false, (store) => store.feedback.delete(TENANT, JUDGEMENT)],
};

/** Members that read no runs, or those of one project or trace that the caller has looked up. */
const OTHERS: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    ['ensure', 'ensureAll', 'update', 'delete', 'deletedAt'].map((name) => [`projects.${name}`, 'no runs']),
  ),
  ...Object.fromEntries(
    ['begin', 'findContent', 'reserve', 'settle', 'abandon', 'link', 'takeUnused', 'forget'].map((name) => [
      `attachments.${name}`,
      'objects, and what is sent',
    ]),
  ),
  'attachments.ofRuns': 'runs that were found',
  'statistics.ofProjects': 'projects that were found',
  'threads.list': 'a project that was found',
  'priceApplications.apply': 'a project that was found',
  ...Object.fromEntries(['find', 'list'].map((name) => [`priceApplications.${name}`, 'no runs'])),
  ...Object.fromEntries(
    ['add', 'aged', 'find', 'remove'].map((name) => [`sourceArchives.${name}`, 'no runs']),
  ),
  'erasures.erase': 'deletes',
  'tenants.remove': 'deletes',
  'feedback.create': 'stores',
  'feedbackTokens.mint': 'stores',
  'feedbackTokens.isSigned': 'reads nothing',
  'ingestProblems.refuse': 'stores',
  'retention.set': 'settings',
  'retention.boundsOf': 'settings',
  'retention.upgrade': 'changes what is to go',
};
/** Members without rows of runs. */
const APART = [
  'datasets',
  'datasetVersions',
  'examples',
  'apiKeys',
  'feedbackConfigs',
  'prices',
  'prompts',
  'promptCommits',
  'exportArchive',
  'revisionArchive',
];
/** Exports name their project, and refuse one that is being deleted. */
const EXPORTS = ['exportCounts', 'exportProgress', 'exportSource'];

describe('a project whose rows are still being removed', () => {
  const db = testTraceStore();
  let world: World;

  beforeAll(async () => {
    const runs = [
      { id: ROOT, trace_id: TRACE, tags: [1] },
      { id: CHILD, trace_id: TRACE, parent_run_id: ROOT, run_type: 'llm', ...CALL },
    ].map((run) => ({ name: 'r', run_type: 'chain', start_time: START, session_name: 'p', ...run }));
    await db.store.ingest(TENANT, {
      post: runs.map((run) => ({ run: Buffer.from(JSON.stringify(run)) })),
      patch: [],
    });
    const project = await db.store.projects.find(TENANT, { name: 'p' });
    await db.store.feedback.create(TENANT, judgement(JUDGEMENT));
    const { token: link = '' } = (await db.store.shares.share(TENANT, { id: ROOT })) ?? {};
    const asked = { runId: ROOT, key: 'k', config: undefined, feedbackId: undefined, seconds: 60, place: [] };
    const [minted] = await db.store.feedbackTokens.mint(TENANT, [asked]);
    await db.client.query(
      `INSERT INTO attachment_objects (tenant_id, id, sha256, size, state) VALUES ($1, $2, '', 1, 'stored')`,
      [TENANT, OBJECT],
    );
    await db.client.query(
      `INSERT INTO attachments (tenant_id, run_id, name, trace_id, project_id, start_time, content_type, object_id)
      SELECT tenant_id, id, 'a', trace_id, project_id, start_time, 'text/plain', $2 FROM run_keys WHERE id = $1`,
      [ROOT, OBJECT],
    );
    world = { projectId: project?.id ?? '', link, token: minted?.token ?? '' };
  });

  it('has a row for every member of the store that reads', () => {
    const store = db.store as unknown as Record<string, unknown>;
    const members = Object.entries(store).flatMap(([part, value]) =>
      typeof value === 'object' && value !== null && ![...APART, ...EXPORTS].includes(part)
        ? methodsOf(value).map((name) => `${part}.${name}`)
        : [],
    );
    expect(members.sort()).toEqual([...Object.keys(READS), ...Object.keys(OTHERS)].sort());
  });

  it('shows its runs before its deletion', async () => {
    const empty: string[] = [];
    for (const [name, [none, read]] of Object.entries(READS))
      if (!/delete|unshare|update/.test(name) && shown(await read(db.store, world)) === shown(none))
        empty.push(name);
    expect(empty).toEqual([]);
  });

  it('stays out of every read', async () => {
    // the intent alone, as a process leaves it that ended then
    await recordDeletion(db.client, TENANT, world.projectId);
    await db.client.query(`UPDATE project_deletions SET claimed_until = now() + interval '1 hour'`);
    const left: string[] = [];
    for (const [name, [none, read]] of Object.entries(READS)) {
      const found = shown(await read(db.store, world));
      if (found !== shown(none)) left.push(`${name}: ${found}`);
    }
    expect(left).toEqual([]);
  });

  it('has no run for feedback that is sent since: it waits for one', async () => {
    const id = randomUUID();
    await db.store.feedback.create(TENANT, judgement(id));
    const { rows } = await db.client.query(
      'SELECT project_id, trace_id, waits_since IS NOT NULL AS waits FROM feedback WHERE id = $1',
      [id],
    );
    expect(rows).toEqual([{ project_id: null, trace_id: null, waits: true }]);
  });
});

function methodsOf(part: object): string[] {
  const shape = Object.getPrototypeOf(part) as object;
  return shape === Object.prototype ? Object.keys(part) : Object.getOwnPropertyNames(shape).slice(1);
}

function shown(value: unknown): string {
  return (
    JSON.stringify(value, (_name, one: unknown) => (typeof one === 'bigint' ? String(one) : one)) ?? 'nothing'
  );
}
