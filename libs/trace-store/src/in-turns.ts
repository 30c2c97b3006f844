import type { Pool, Queryable } from '#lib/postgres';
import type { Attachments } from './attachment/attachments.js';
import { inTurns } from './datasets-in-turns.js';
import { countLate } from './export/count-late.js';
import { countRows } from './export/count-rows.js';
import { FeedbackConfigTable } from './feedback/feedback-config-table.js';
import { FeedbackTable } from './feedback/feedback-table.js';
import { FeedbackTokenTable } from './feedback/feedback-token-table.js';
import type { Feedbacks } from './feedback/feedback.js';
import type { FeedbackTokens } from './feedback/feedback-tokens.js';
import type { Ingestion } from './ingestion/ingestion.js';
import { observedIngest } from './ingestion/observe-ingestion.js';
import type { ApiKeys } from './key/api-keys.js';
import type { IngestProblemTable } from './problem/ingest-problem-table.js';
import type { IngestProblems } from './problem/ingest-problems.js';
import { RefusalLine } from './problem/refusal-line.js';
import { PriceApplicationTable } from './repricing/price-application-table.js';
import type { PriceApplications } from './repricing/price-application.js';
import type { ModelPrices } from './price/model-price.js';
import type { Projects } from './project/project.js';
import { statisticsOfProjects, statisticsOfRuns } from './summary/read-statistics.js';
import { readThreads } from './thread/read-threads.js';
import type { Erasures } from './erasure/erasure.js';
import type { Shares } from './share/shares.js';
import { readRetention, setRetention } from './retention/retention-table.js';
import type { Retention } from './retention/retention.js';
import { upgradeTrace } from './retention/upgrade-trace.js';
import { readRun } from './query/find-run.js';
import { searchRuns } from './query/search-runs.js';
import type { PayloadStore } from './run/payload-store.js';
import type { TraceStore } from './trace-store.js';
import type { InTurns, TenantTurns } from './tenant-turns.js';

/** Whose turns the progress of exports takes that the platform's programs write and read: they know runs, and no tenants. */
const EXPORTS = 'exports';
const LINKS = 'links';

/** The check of keys takes no turns: every request waits for it, and it has connections of its own. */
export function keysInTurns(keys: ApiKeys, turns: TenantTurns): ApiKeys {
  return {
    verify: (key) => keys.verify(key),
    verifyProof: (id, proves) => keys.verifyProof(id, proves),
    mint: (tenantId, key) => turns.run(tenantId, () => keys.mint(tenantId, key)),
    revoke: (tenantId, id) => turns.run(tenantId, () => keys.revoke(tenantId, id)),
    revokeOfDeployment: (tenantId, deployment) =>
      turns.run(tenantId, () => keys.revokeOfDeployment(tenantId, deployment)),
    list: (tenantId) => turns.run(tenantId, () => keys.list(tenantId)),
  };
}

/** What tidying does for all tenants takes no turns. */
export function attachmentsInTurns(attachments: Attachments, turns: TenantTurns): Attachments {
  return {
    begin: (tenantId, size) => turns.run(tenantId, () => attachments.begin(tenantId, size)),
    findContent: (tenantId, content) => turns.run(tenantId, () => attachments.findContent(tenantId, content)),
    reserve: (tenantId, id, content) => turns.run(tenantId, () => attachments.reserve(tenantId, id, content)),
    settle: (tenantId, id, content) => turns.run(tenantId, () => attachments.settle(tenantId, id, content)),
    abandon: (tenantId, id) => turns.run(tenantId, () => attachments.abandon(tenantId, id)),
    link: (tenantId, sent, own) => turns.run(tenantId, () => attachments.link(tenantId, sent, own)),
    ofRuns: (tenantId, runs) => turns.run(tenantId, () => attachments.ofRuns(tenantId, runs)),
    find: (tenantId, runId, objectId) =>
      turns.run(tenantId, () => attachments.find(tenantId, runId, objectId)),
    takeUnused: (limit) => attachments.takeUnused(limit),
    forget: (object) => attachments.forget(object),
  };
}

/**
 * @param changed called after a project may have got another name or tier, or was deleted
 * @param deleted called then: its rows are to go
 */
export function projectsInTurns(
  projects: Projects,
  turns: TenantTurns,
  { changed, deleted }: { readonly changed: () => void; readonly deleted: () => void },
): Projects {
  return {
    ensure: (tenantId, ...given) => turns.run(tenantId, () => projects.ensure(tenantId, ...given)),
    async update(tenantId, ...given) {
      const project = await turns.run(tenantId, () => projects.update(tenantId, ...given));
      changed();
      return project;
    },
    find: (tenantId, by) => turns.run(tenantId, () => projects.find(tenantId, by)),
    findAll: (tenantId, references) => turns.run(tenantId, () => projects.findAll(tenantId, references)),
    list: (tenantId, options) => turns.run(tenantId, () => projects.list(tenantId, options)),
    async delete(tenantId, id) {
      const isDeleted = await turns.run(tenantId, () => projects.delete(tenantId, id));
      if (isDeleted) changed();
      if (isDeleted) deleted();
      return isDeleted;
    },
    deletedAt: (tenantId, id) => turns.run(tenantId, () => projects.deletedAt(tenantId, id)),
  };
}

export function runsInTurns(pool: Pool, payloads: PayloadStore, turns: InTurns): TraceStore['runs'] {
  return {
    get: (tenantId, id, options) =>
      turns.run(tenantId, () => readRun(pool, payloads, { tenantId, id, ...options })),
    search: (tenantId, search, page) =>
      turns.run(tenantId, () => searchRuns(pool, payloads, { tenantId, search, page })),
  };
}

/** @param changed called after tiers may be others */
export function retentionInTurns(pool: Pool, turns: TenantTurns, changed: () => void): Retention {
  return {
    async set(tenantId, settings) {
      await turns.run(tenantId, () => setRetention(pool, tenantId, settings));
      changed();
    },
    boundsOf: (tenantId) => turns.run(tenantId, () => readRetention(pool, tenantId)),
    upgrade: (tenantId, traceId) => turns.run(tenantId, () => upgradeTrace(pool, tenantId, traceId)),
  };
}

export function feedbackInTurns(
  pool: Pool,
  turns: TenantTurns,
  erasureLock: (tenantId: string) => string,
): Pick<TraceStore, 'feedback' | 'feedbackTokens' | 'feedbackConfigs'> {
  return {
    feedback: judgementsInTurns(new FeedbackTable(pool, erasureLock), turns),
    feedbackTokens: tokensInTurns(new FeedbackTokenTable(pool), turns),
    feedbackConfigs: inTurns(new FeedbackConfigTable(pool), turns, ['ensure', 'list', 'update', 'delete']),
  };
}

function judgementsInTurns(feedback: Feedbacks, turns: TenantTurns): Feedbacks {
  return {
    create: (tenantId, ...given) => turns.run(tenantId, () => feedback.create(tenantId, ...given)),
    get: (tenantId, ...given) => turns.run(tenantId, () => feedback.get(tenantId, ...given)),
    update: (tenantId, ...given) => turns.run(tenantId, () => feedback.update(tenantId, ...given)),
    delete: (tenantId, ...given) => turns.run(tenantId, () => feedback.delete(tenantId, ...given)),
    list: (tenantId, ...given) => turns.run(tenantId, () => feedback.list(tenantId, ...given)),
  };
}

/** Whose turns tokens take that are looked up: it is not known yet whose they are. */
const STRANGERS = 'strangers';

function tokensInTurns(tokens: FeedbackTokens, turns: TenantTurns): FeedbackTokens {
  return {
    mint: (tenantId, ...given) => turns.run(tenantId, () => tokens.mint(tenantId, ...given)),
    list: (tenantId, ...given) => turns.run(tenantId, () => tokens.list(tenantId, ...given)),
    // no turn: but for the first time nothing is asked of the database
    isSigned: (token) => tokens.isSigned(token),
    find: (token) => turns.run(STRANGERS, () => tokens.find(token)),
  };
}

/** Batches take turns by themselves, some together; what is to be noted of one takes another. */
export function observedIngestion(
  ingestion: Ingestion,
  problems: IngestProblemTable,
  turns: TenantTurns,
): TraceStore['ingest'] {
  return (tenantId, batch, onlyProject) =>
    observedIngest(batch, async () => {
      const result = await ingestion.ingest(tenantId, batch, onlyProject);
      const { events } = result;
      if (events.length > 0) await turns.run(tenantId, () => problems.record(tenantId, events, onlyProject));
      return result;
    });
}

/** Refusals are collected while those before them wait for their turn. */
export function problemsInTurns(problems: IngestProblemTable, turns: TenantTurns): IngestProblems {
  const line = new RefusalLine((tenantId, ...given) =>
    turns.run(tenantId, () => problems.refuseAll(tenantId, ...given)),
  );
  return {
    refuse: (tenantId, why, own) => line.add(tenantId, why, own),
    list: (tenantId, options) => turns.run(tenantId, () => problems.list(tenantId, options)),
  };
}

export function erasuresInTurns(erasures: Erasures, turns: TenantTurns): Erasures {
  return { erase: (tenantId, ...given) => turns.run(tenantId, () => erasures.erase(tenantId, ...given)) };
}

export function statisticsInTurns(
  pool: Pool,
  turns: InTurns,
): Pick<TraceStore, 'statistics' | 'exportCounts' | 'threads'> {
  return {
    statistics: {
      ofRuns: (tenantId, search) => turns.run(tenantId, () => statisticsOfRuns(pool, tenantId, search)),
      ofProjects: (tenantId, ...given) =>
        turns.run(tenantId, () => statisticsOfProjects(pool, tenantId, ...given)),
    },
    exportCounts: {
      count: (window) => turns.run(window.tenantId, () => countRows(pool, window)),
      countLate: (windows) => turns.run(windows[0]?.tenantId ?? '', () => countLate(pool, windows)),
    },
    threads: {
      list: (tenantId, ...given) => turns.run(tenantId, () => readThreads(pool, tenantId, ...given)),
    },
  };
}

/** Who opens a link is no tenant yet: all of them together are as one. */
export function sharesInTurns(shares: Shares, turns: TenantTurns): Shares {
  return {
    share: (tenantId, run) => turns.run(tenantId, () => shares.share(tenantId, run)),
    find: (tenantId, runId) => turns.run(tenantId, () => shares.find(tenantId, runId)),
    unshare: (tenantId, run) => turns.run(tenantId, () => shares.unshare(tenantId, run)),
    open: (token) => turns.run(LINKS, () => shares.open(token)),
  };
}

export function pricesInTurns(prices: ModelPrices, turns: TenantTurns): ModelPrices {
  return {
    list: (tenantId) => turns.run(tenantId, () => prices.list(tenantId)),
    create: (tenantId, price) => turns.run(tenantId, () => prices.create(tenantId, price)),
    put: (tenantId, price) => turns.run(tenantId, () => prices.put(tenantId, price)),
    replace: (tenantId, ...given) => turns.run(tenantId, () => prices.replace(tenantId, ...given)),
    setDisabled: (tenantId, ...given) => turns.run(tenantId, () => prices.setDisabled(tenantId, ...given)),
    remove: (tenantId, id) => turns.run(tenantId, () => prices.remove(tenantId, id)),
  };
}

/** @param added called after an application was added: it is to be performed */
export function priceApplicationsInTurns(
  pool: Pool,
  turns: TenantTurns,
  added: () => void,
): PriceApplications {
  const table = new PriceApplicationTable(pool, added);
  return {
    apply: (tenantId, wanted) => turns.run(tenantId, () => table.apply(tenantId, wanted)),
    find: (tenantId, id) => turns.run(tenantId, () => table.find(tenantId, id)),
    list: (tenantId) => turns.run(tenantId, () => table.list(tenantId)),
    unmatched: (tenantId, search) => turns.run(tenantId, () => table.unmatched(tenantId, search)),
  };
}

/** For the progress of exports: a tenant that asks for much of it delays no other. */
export function queriesInTurns(pool: Pick<Pool, 'query'>, turns: InTurns): (tenantId?: string) => Queryable {
  return (tenantId = EXPORTS) => {
    const query = (...given: Parameters<Queryable['query']>) =>
      turns.run(tenantId, async () => pool.query(...given));
    return { query: query as Queryable['query'] };
  };
}
