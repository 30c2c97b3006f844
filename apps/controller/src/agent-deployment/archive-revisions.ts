import { postgresTrouble, sqlState } from '#lib/postgres';
import { type AgentDeployment, EVENT, RESOURCES } from '#lib/resources';
import type { DeploymentDecision } from './decide.js';
import type { DeploymentTools } from './deployment-tools.js';
import { forgetRevisions } from './forget-revisions.js';
import type { Outcome } from './summarize.js';

const RETRY_MS = 60_000;

/**
 * Stores revisions in the archive and deletes them afterwards. A database that stores nothing keeps them where they are:
 * that is reported by an event, and holds up nothing else of the deployment.
 */
export async function archiveRevisions(
  { client, archiver, events }: Pick<DeploymentTools, 'client' | 'archiver' | 'events'>,
  deployment: AgentDeployment,
  {
    revisions,
    tenantId,
  }: Pick<Extract<DeploymentDecision, { kind: 'archive-revisions' }>, 'revisions' | 'tenantId'>,
): Promise<Outcome> {
  try {
    await archiver.store(deployment, revisions, tenantId);
  } catch (error) {
    const isUnavailable = postgresTrouble(error) === 'unavailable';
    const state = sqlState(error);
    if (!isUnavailable && state === undefined) throw error;
    const trouble = isUnavailable ? 'database unavailable' : `the database refused it (SQLSTATE ${state})`;
    events.record(RESOURCES.AgentDeployment, deployment, {
      type: 'Warning',
      reason: EVENT.archivingFailed,
      message: `archiving revisions past revisionHistoryLimit failed: ${trouble}; they stay, retrying every minute`,
    });
    return { kind: 'done', retryMs: RETRY_MS };
  }
  await forgetRevisions(client, revisions);
  return { kind: 'done' };
}
