import {
  agedFences,
  exportArchive,
  exportContinuations,
  exportFences,
  exportMarks,
  exportsByProgress,
  heldExports,
  marksOfCluster,
  revisionArchive,
  smallArchiveRecords,
} from './export-tables.js';
import type { Migration } from '#lib/postgres';
import type { ControlTables } from '../control/control-tables.js';
import {
  attachmentTables,
  datasetTables,
  exampleAttachments,
  examplePayloads,
  listedVersions,
  sourceArchives,
} from './dataset-tables.js';
import {
  erasureClaims,
  ingestProblemTables,
  projectDeletions,
  runKeysByTrace,
  shortlivedRuns,
  threadsByTime,
  traceErasures,
  traceRetention,
  traceShares,
  traceTables,
  traceTops,
  unplacedRuns,
  waitingByProject,
} from './trace-tables.js';
import {
  feedbackConfigs,
  feedbackExports,
  feedbackMembers,
  feedbackStats,
  feedbackTokens,
  signedFeedbackTokens,
} from './feedback-tables.js';
import { daysOfAllTiers, icebergTables, lakeTables } from './lake-tables.js';
import { modelPrices, priceApplications, runPrices } from './price-tables.js';
import { promptTables } from './prompt-tables.js';
import { payloadPairs, runIndexes, runKeysByTime, runSearch, searchMarks } from './run-search.js';
import { runStatistics, runStatisticsFilling, traceTotals, traceTotalsFilling } from './run-statistics.js';

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
    promptTables,
    lakeTables,
    icebergTables,
    searchMarks,
    daysOfAllTiers,
  ];
}
