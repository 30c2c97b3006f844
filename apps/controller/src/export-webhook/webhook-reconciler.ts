import { type EventRecorder, type KubeClient, StatusWriter } from '#lib/kube';
import { type AddressGuard, webhookPauseMs } from '#lib/outbound';
import { after, done, type Result, wait } from '#lib/reconcile';
import {
  type BulkExport,
  type BulkExportStatus,
  CONDITION,
  type ConditionDraft,
  findCondition,
  idOf,
  type ObjectKey,
  REASON,
  RESOURCES,
  updateConditions,
  type WebhookDelivery,
} from '#lib/resources';
import { metrics } from '#lib/telemetry';
import { isFinished } from '../bulk-export/export-phase.js';
import { type Caches, workspaceOf } from '../caches.js';
import type { DatabaseTime } from '../database-time.js';
import {
  beyondOpen,
  type CallOutcome,
  decideWebhook,
  isOpen,
  type WebhookDecision,
  type WebhookWorld,
} from './decide-webhook.js';
import { callWebhook, type WebhookCalls } from './webhook-calls.js';

/** A decision that the status has to say. */
type ReportedDecision = Exclude<WebhookDecision, { readonly kind: 'keep' | 'later' }>;

/** Maximum length that the resource accepts. */
const MAX_ERROR = 1_024;

function draft(decision: ReportedDecision): Omit<ConditionDraft, 'type'> {
  switch (decision.kind) {
    case 'attempt':
      return {
        status: 'Unknown',
        reason: REASON.deliveryPending,
        message: `attempt ${decision.attempt} is in progress`,
      };
    case 'again':
      return {
        status: 'Unknown',
        reason: REASON.deliveryPending,
        message: `${decision.error}; the next attempt is due at ${decision.at.toISOString()}`,
      };
    case 'delivered':
      return { status: 'True', reason: REASON.delivered, message: 'the receiver accepted the call' };
    case 'giveUp':
      return { status: 'False', reason: REASON.deliveryFailed, message: `given up: ${decision.error}` };
    default:
      return decision satisfies never;
  }
}

function deliveryOf(before: WebhookDelivery, decision: ReportedDecision, now: Date): WebhookDelivery {
  const { nextAttemptAt: _, ...kept } = before;
  const at = now.toISOString();
  switch (decision.kind) {
    case 'attempt': {
      const { attempt } = decision;
      return { ...kept, attempts: attempt, firstAttemptAt: kept.firstAttemptAt ?? at, lastAttemptAt: at };
    }
    case 'again':
      return { ...kept, lastError: shortened(decision.error), nextAttemptAt: decision.at.toISOString() };
    case 'delivered':
      return { ...kept, deliveredAt: at };
    case 'giveUp':
      return { ...kept, lastError: shortened(decision.error) };
    default:
      return decision satisfies never;
  }
}

/** Status of the webhook after a decision: one condition, and how far the calls came. */
function summarizeWebhook(
  { metadata, status }: BulkExport,
  decision: ReportedDecision,
  now: Date,
): BulkExportStatus {
  const before = findCondition(status?.conditions, CONDITION.webhookDelivered);
  return {
    conditions: updateConditions(
      before ? [before] : [],
      { [CONDITION.webhookDelivered]: draft(decision) },
      metadata.generation,
      now,
    ),
    webhook: deliveryOf(status?.webhook ?? {}, decision, now),
  };
}

function shortened(text: string): string {
  return text.length <= MAX_ERROR ? text : `${text.slice(0, MAX_ERROR - 1)}…`;
}

export interface WebhookDependencies extends Pick<Caches, 'workspaces' | 'destinations' | 'exports'> {
  readonly client: KubeClient;
  readonly events: EventRecorder;
  readonly time: Pick<DatabaseTime, 'now'>;
  readonly guard: AddressGuard;
  readonly calls: WebhookCalls;
}

const OUTCOMES = { delivered: 'delivered', again: 'again', giveUp: 'failed' } as const;

/** A cache that has not seen our last report yet. */
const BEHIND_MS = 500;
/** Its place in the line wakes it; this is for a wake-up that was lost. */
const PLACE_MS = 30_000;
const WORKSPACE_MS = 30_000;

/**
 * Calls the webhooks of exports that have ended. The number of an attempt is written to the status before the
 * call is made, which runs in the background; its outcome is reported by the next pass. A controller that
 * dies between any two steps makes the call again, under the same id.
 */
export class WebhookReconciler {
  readonly #status: StatusWriter;

  constructor(private readonly deps: WebhookDependencies) {
    this.#status = new StatusWriter(deps.client, {
      fieldManager: 'agentplane-controller-webhook',
      conditionTypes: [CONDITION.webhookDelivered],
    });
  }

  async reconcile(key: ObjectKey): Promise<Result> {
    const { calls, exports } = this.deps;
    const found = exports.find(key);
    if (!found || !isOpen(found) || !isFinished(found)) {
      calls.leave(key);
      return done();
    }
    if (this.#status.isBehind(found)) return wait(REASON.pending, BEHIND_MS);
    const world = await this.#observe(key, found);
    const decision = decideWebhook(world);
    switch (decision.kind) {
      case 'keep':
      case 'later':
        calls.leave(key);
        return decision.kind === 'keep' ? done() : after(decision.ms);
      case 'attempt':
        return await this.#attempt(key, world, decision.attempt);
      case 'again':
      case 'delivered':
      case 'giveUp':
        await this.#report(world, decision);
        if (world.outcome) metrics.exportWebhookCalls.add(1, { outcome: OUTCOMES[decision.kind] });
        calls.leave(key);
        return decision.kind === 'again' ? after(decision.at.getTime() - world.now.getTime()) : done();
      default:
        return decision satisfies never;
    }
  }

  async #observe(key: ObjectKey, bulkExport: BulkExport): Promise<WebhookWorld> {
    const { calls, exports, time } = this.deps;
    const { namespace, uid = '' } = bulkExport.metadata;
    return {
      bulkExport,
      ...calls.find(key, uid),
      isPushedOut: beyondOpen(exports.list(namespace)).some(({ metadata }) => metadata.uid === uid),
      now: await time.now(),
    };
  }

  async #attempt(key: ObjectKey, world: WebhookWorld, attempt: number): Promise<Result> {
    const { calls, client, destinations, guard, workspaces } = this.deps;
    const { bulkExport, now } = world;
    const { namespace = '', uid = '' } = bulkExport.metadata;
    const workspace = workspaceOf(workspaces, namespace);
    if (!workspace) {
      calls.leave(key);
      return wait(REASON.workspaceMissing, WORKSPACE_MS);
    }
    if (!calls.admit(key, uid)) return wait(REASON.queued, PLACE_MS);
    const written = await this.#reportOrLeave(key, world, attempt);
    const destination = destinations.find({ namespace, name: bulkExport.spec.destinationRef.name });
    const destinationId = bulkExport.status?.destinationId ?? (destination && idOf(destination)) ?? null;
    const links = { tenantId: workspace.spec.tenantId, destinationId, now };
    calls.begin(key, async (): Promise<CallOutcome> => {
      const answer = await callWebhook({ client, guard }, written, links);
      return { attempt, answer, pauseMs: webhookPauseMs(attempt) };
    });
    return done();
  }

  /**
   * Gives the place back when the attempt could not be written to the status: such an attempt does not count.
   */
  async #reportOrLeave(key: ObjectKey, world: WebhookWorld, attempt: number): Promise<BulkExport> {
    try {
      return await this.#report(world, { kind: 'attempt', attempt });
    } catch (error) {
      this.deps.calls.leave(key);
      throw error;
    }
  }

  async #report({ bulkExport, now }: WebhookWorld, decision: ReportedDecision): Promise<BulkExport> {
    const { events, exports } = this.deps;
    const status = summarizeWebhook(bulkExport, decision, now);
    const written = await this.#status.apply(RESOURCES.BulkExport, bulkExport, status);
    if (written === bulkExport) return bulkExport;
    await exports.seen(written);
    if (decision.kind === 'delivered')
      events.record(RESOURCES.BulkExport, bulkExport, {
        type: 'Normal',
        reason: REASON.delivered,
        message: 'the receiver of the webhook accepted the call',
      });
    if (decision.kind === 'giveUp')
      events.record(RESOURCES.BulkExport, bulkExport, {
        type: 'Warning',
        reason: REASON.deliveryFailed,
        message: `the webhook was given up: ${decision.error}`,
      });
    return written;
  }
}
