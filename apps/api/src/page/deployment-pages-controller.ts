import { Inject, Query, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import type { Clock } from '#lib/time';
import type { TraceStore } from '#lib/trace-store';
import { CLOCK, TRACE_STORE } from '../core/tokens.js';
import { DeploymentRevisions } from '../deployment/deployment-revisions.js';
import { Deployments } from '../deployment/deployments.js';
import { Resource } from '../wire/operation.js';
import { PathId, QueryWhole } from '../wire/query-flag.js';
import { AgentCalls } from './agent-calls.js';
import { Page, PageReaders, type PageReader } from './page-readers.js';
import { renderThreads, TALK } from './talk-page.js';
import { copyButton, escapeHtml, renderDocument, renderState, renderTable, renderTime } from '#lib/page';
import type { DeploymentAnswer, RevisionAnswer } from '../deployment/deployment-answer.js';
import { nextLink, renderTrail } from './trace-lists.js';

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
function renderDeploymentList(
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
  const table = renderTable('Deployments', ['name', 'state', 'image', 'address', 'reason', 'changed'], rows);
  const main = `<h1>Deployments</h1>
${rows.length === 0 ? none : table}
${next === undefined ? '' : nextLink('More deployments', { offset: String(next) })}`;
  return renderDocument('Deployments', main, navigation);
}

/** A deployment, and what belongs to it. */
interface ShownDeployment {
  readonly deployment: DeploymentAnswer;
  /** The newest first. */
  readonly revisions: readonly RevisionAnswer[];
  /** Its tracing project, once it has one. */
  readonly projectId: string | undefined;
  /** Escaped. */
  readonly threads: string;
}

function renderDeployment(
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
    `${escapeHtml(one.name ?? 'not made yet')}${one.id === active ? ' <span class="kind">serves</span>' : ''} ${copyButton('Copy the id', one.id)}`,
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
${renderTable('Revisions', ['revision', 'state', 'image', 'reason', 'since'], rows)}`;
  return renderDocument(deployment.name, main, navigation);
}

/** Query of the page of deployments. */
class DeploymentListQuery {
  @QueryWhole({ min: 0, max: 2_147_483_647, about: 'Deployments to skip' })
  offset?: number;
}

const DEPLOYMENTS = 50;
const REVISIONS = 10;

/** Deployments for people. */
@Resource('Pages', 'o/:tenant_id/deployments')
export class DeploymentPagesController {
  constructor(
    private readonly readers: PageReaders,
    private readonly deployments: Deployments,
    private readonly revisions: DeploymentRevisions,
    private readonly agents: AgentCalls,
    @Inject(TRACE_STORE) private readonly store: Pick<TraceStore, 'projects'>,
    @Inject(CLOCK) private readonly clock: Pick<Clock, 'now'>,
  ) {}

  @Page('', 'The deployments of a workspace as a page, for a signed-in person')
  async list(
    @PathId('tenant_id') tenantId: string,
    @Query() { offset = 0 }: DeploymentListQuery,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    await this.readers.show({ reply, tenantId, route: 'GET /v2/deployments' }, async (reader) => {
      const { resources } = await this.deployments.list(reader.caller, { offset, limit: DEPLOYMENTS });
      const next = resources.length < DEPLOYMENTS ? undefined : offset + DEPLOYMENTS;
      return renderDeploymentList(resources, next, reader);
    });
  }

  @Page(':deployment_id', 'A deployment with its revisions and threads as a page, for a signed-in person')
  async deployment(
    @PathId('tenant_id') tenantId: string,
    @PathId('deployment_id') id: string,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const asked = { reply, tenantId, route: 'GET /v2/deployments/{deployment_id}' };
    await this.readers.show(asked, async (reader, hold) => {
      const { caller, mayCall } = reader;
      const deployment = await this.deployments.get(caller, id);
      const { resources } = await this.revisions.list(caller, id, { limit: REVISIONS, offset: 0 });
      const project = await this.store.projects.find(tenantId, { name: deployment.name });
      const threads = mayCall(TALK)
        ? renderThreads(
            await this.agents.threadsOf(this.deployments.find(caller, id), reader, hold),
            reader.pathOf('deployments', id, 'threads'),
            this.clock.now(),
          )
        : `<p class="quiet">A key of the scope ${caller.scope} does not open agents: sign in with one of the scope workspace to see threads.</p>`;
      return renderDeployment({ deployment, revisions: resources, projectId: project?.id, threads }, reader);
    });
  }
}
