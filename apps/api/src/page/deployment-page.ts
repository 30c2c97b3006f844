import { escapeHtml, renderDocument, renderTable, renderTime } from '#lib/page';
import type { DeploymentAnswer, RevisionAnswer } from '../deployment/deployment-answer.js';
import type { PageReader } from './page-readers.js';
import { nextLink, renderState, renderTrail } from './trace-lists.js';

/** Words of statuses for people. */
const STATES: Readonly<Record<string, readonly [text: string, tone: 'good' | 'bad' | 'plain']>> = {
  READY: ['ready', 'good'],
  DEPLOYED: ['deployed', 'good'],
  AWAITING_DATABASE: ['creating its database', 'plain'],
  AWAITING_DEPLOY: ['waits', 'plain'],
  AWAITING_DELETE: ['being deleted', 'plain'],
  UNUSED: ['not used', 'plain'],
  UNKNOWN: ['unknown', 'bad'],
};

function stateOf(status: string): string {
  const [text, tone] = STATES[status] ?? [
    status.toLowerCase().replaceAll('_', ' '),
    status.endsWith('FAILED') ? 'bad' : 'plain',
  ];
  return renderState(text, tone);
}

function reasonOf({ status_reason: reason, status_message: message }: ReasonedAnswer): string {
  if (reason === null && message === null) return '';
  return escapeHtml(message ?? reason ?? '');
}

type ReasonedAnswer = Pick<DeploymentAnswer, 'status_reason' | 'status_message'>;

/** An address that can be opened, as a link. */
function addressOf(url: string | null): string {
  if (url === null) return '';
  return /^https?:\/\//.test(url)
    ? `<a href="${escapeHtml(url)}" rel="noopener noreferrer">${escapeHtml(url)}</a>`
    : escapeHtml(url);
}

function imageOf({ source_revision_config: config }: Pick<RevisionAnswer, 'source_revision_config'>): string {
  return escapeHtml(config.image_uri ?? config.repo_commit_sha ?? config.repo_ref ?? '');
}

/** Deployments with their states and reasons. */
export function renderDeploymentList(
  deployments: readonly DeploymentAnswer[],
  next: number | undefined,
  { navigation, pathOf }: PageReader,
): Buffer {
  const rows = deployments.map((one) => [
    `<a href="${escapeHtml(pathOf('deployments', one.id))}">${escapeHtml(one.name)}</a>`,
    stateOf(one.status),
    imageOf({ source_revision_config: { ...one.source_revision_config, repo_commit_sha: null } }),
    addressOf(one.url),
    reasonOf(one),
    renderTime(one.updated_at),
  ]);
  const none = '<p>There are no deployments here. The command <code>agentplane deploy</code> makes one.</p>';
  const table = renderTable(
    'Deployments',
    ['name', 'state', 'revision of', 'address', 'reason', 'changed'],
    rows,
  );
  const main = `<h1>Deployments</h1>
${rows.length === 0 ? none : table}
${next === undefined ? '' : nextLink('More deployments', { offset: String(next) })}`;
  return renderDocument('Deployments', main, navigation);
}

/** A deployment, and what belongs to it. */
export interface ShownDeployment {
  readonly deployment: DeploymentAnswer;
  /** The newest first. */
  readonly revisions: readonly RevisionAnswer[];
  /** Its tracing project, once it has one. */
  readonly projectId: string | undefined;
  /** Escaped. */
  readonly threads: string;
}

export function renderDeployment(
  { deployment, revisions, projectId, threads }: ShownDeployment,
  { navigation, pathOf }: PageReader,
): Buffer {
  const { active_revision_id: active } = deployment;
  const facts: readonly (readonly [string, string])[] = [
    ['state', stateOf(deployment.status)],
    ['reason', reasonOf(deployment)],
    ['address', addressOf(deployment.url)],
    ['source', escapeHtml(deployment.source)],
    ['since', renderTime(deployment.created_at)],
  ];
  const shown = facts.filter(([, value]) => value !== '');
  const rows = revisions.map((one) => [
    `${escapeHtml(one.id.slice(0, 8))}${one.id === active ? ' <span class="kind">serves</span>' : ''}`,
    stateOf(one.status),
    imageOf(one),
    reasonOf(one),
    renderTime(one.created_at),
  ]);
  const traces =
    projectId === undefined
      ? '<span class="quiet">no traces yet</span>'
      : `<a href="${escapeHtml(pathOf('projects', 'p', projectId))}">traces</a>`;
  const main = `${renderTrail(['Deployments', pathOf('deployments')])}<h1>${escapeHtml(deployment.name)}</h1>
<dl class="facts">${shown.map(([name, value]) => `<div><dt>${name}</dt> <dd>${value}</dd></div>`).join('')}</dl>
<p class="actions">${traces}</p>
<h2>Threads</h2>
${threads}
<h2>Revisions</h2>
${renderTable('Revisions', ['revision', 'state', 'of', 'reason', 'since'], rows)}`;
  return renderDocument(deployment.name, main, navigation);
}
