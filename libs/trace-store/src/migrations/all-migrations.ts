import { agedFences } from './aged-fences.js';
import type { Migration } from '#lib/postgres';
import type { ControlTables } from '../control/control-tables.js';
import { attachmentTables } from './attachment-tables.js';
import { erasureClaims } from './erasure-claims.js';
import { exampleAttachments } from './example-attachments.js';
import { exportArchive } from './export-archive.js';
import { exportFences } from './export-fences.js';
import { exportsByProgress } from './exports-by-progress.js';
import { exportContinuations } from './export-continuations.js';
import { examplePayloads } from './example-payloads.js';
import { feedbackConfigs } from './feedback-configs.js';
import { feedbackExports } from './feedback-exports.js';
import { feedbackMembers } from './feedback-members.js';
import { feedbackStats } from './feedback-stats.js';
import { datasetTables } from './datasets.js';
import { feedbackTokens } from './feedback-tokens.js';
import { exportMarks } from './export-marks.js';
import { ingestProblemTables } from './ingest-problem-tables.js';
import { listedVersions } from './listed-versions.js';
import { modelPrices } from './model-prices.js';
import { payloadPairs, runIndexes, runKeysByTime, runSearch } from './run-search.js';
import { priceApplications } from './price-applications.js';
import { runPrices } from './run-prices.js';
import { runStatistics, runStatisticsFilling } from './run-statistics.js';
import { projectDeletions } from './project-deletions.js';
import { runKeysByTrace, traceErasures } from './trace-erasures.js';
import { traceShares } from './trace-shares.js';
import { revisionArchive } from './revision-archive.js';
import { smallArchiveRecords } from './small-archive-records.js';
import { shortlivedRuns, traceRetention } from './trace-retention.js';
import { signedFeedbackTokens } from './signed-feedback-tokens.js';
import { threadsByTime } from './threads-by-time.js';
import { traceTops } from './trace-tops.js';
import { traceTotals, traceTotalsFilling } from './trace-totals.js';
import { traceTables } from './trace-tables.js';
import { unplacedRuns } from './unplaced-runs.js';
import { heldExports } from './held-exports.js';
import { sourceArchives } from './source-archives.js';
import { marksOfCluster } from './marks-of-cluster.js';
import { waitingByProject } from './waiting-by-project.js';

/**
 * All migrations in order; numbers without gaps. Tables of the control side are TypeORM's: a step of this
 * list has it apply its missing migrations, so that both kinds have one order and one lock, and a start with
 * nothing to do does not load TypeORM.
 */
export function allMigrations(control: Pick<ControlTables, 'migrate'>): readonly Migration[] {
  return [
    { version: 1, name: 'control tables', transaction: false, perform: () => control.migrate() },
    traceTables,
    { version: 3, name: 'project ids per tenant', transaction: false, perform: () => control.migrate() },
    traceErasures,
    runKeysByTrace,
    { version: 6, name: 'times of projects', transaction: false, perform: () => control.migrate() },
    ingestProblemTables,
    runSearch,
    runIndexes,
    runKeysByTime,
    payloadPairs,
    unplacedRuns,
    feedbackMembers,
    runStatistics,
    runStatisticsFilling,
    feedbackStats,
    attachmentTables,
    { version: 18, name: 'datasets of projects', transaction: false, perform: () => control.migrate() },
    datasetTables,
    feedbackTokens,
    traceShares,
    projectDeletions,
    traceRetention,
    shortlivedRuns,
    examplePayloads,
    modelPrices,
    waitingByProject,
    runPrices,
    signedFeedbackTokens,
    feedbackConfigs,
    priceApplications,
    exampleAttachments,
    exportArchive,
    smallArchiveRecords,
    feedbackExports,
    exportContinuations,
    exportMarks,
    erasureClaims,
    listedVersions,
    marksOfCluster,
    threadsByTime,
    heldExports,
    revisionArchive,
    exportFences,
    traceTotals,
    traceTotalsFilling,
    traceTops,
    exportsByProgress,
    agedFences,
    sourceArchives,
  ];
}
