import { type EventRecorder, type Informer, type KubeClient, StatusWriter } from '#lib/kube';
import type { AddressGuard } from '#lib/outbound';
import { after, done, type Result, wait } from '#lib/reconcile';
import {
  type BulkExport,
  type BulkExportDestination,
  CONDITION,
  idOf,
  type ObjectKey,
  REASON,
  RESOURCES,
  type Workspace,
} from '#lib/resources';
import { metrics } from '#lib/telemetry';
import { webhookPauseMs } from '#lib/webhook';
import { isFinished } from '../bulk-export/export-phase.js';
import { workspaceOf } from '../caches.js';
import type { DatabaseTime } from '../database-time.js';
import { callWebhook } from './call-webhook.js';
import { type CallOutcome, decideWebhook, type WebhookWorld } from './decide-webhook.js';
import { beyondOpen, isOpen } from './delivery.js';
import type { WebhookCalls } from './webhook-calls.js';
import { type ReportedDecision, summarizeWebhook } from './webhook-status.js';

export interface WebhookDependencies {
  readonly client: KubeClient;
  readonly events: EventRecorder;
  readonly time: Pick<DatabaseTime, 'now'>;
  readonly guard: AddressGuard;
  readonly calls: WebhookCalls;
  readonly workspaces: Informer<Workspace>;
  readonly destinations: Informer<BulkExportDestination>;
  readonly exports: Informer<BulkExport>;
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
  readonly #deps: WebhookDependencies;
  readonly #status: StatusWriter;

  constructor(deps: WebhookDependencies) {
    this.#deps = deps;
    this.#status = new StatusWriter(deps.client, {
      fieldManager: 'agentplane-controller-webhook',
      conditionTypes: [CONDITION.webhookDelivered],
    });
  }

  async reconcile(key: ObjectKey): Promise<Result> {
    const { calls, exports } = this.#deps;
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
    const { calls, exports, time } = this.#deps;
    const { namespace, uid = '' } = bulkExport.metadata;
    return {
      bulkExport,
      ...calls.find(key, uid),
      isPushedOut: beyondOpen(exports.list(namespace)).some(({ metadata }) => metadata.uid === uid),
      now: await time.now(),
    };
  }

  async #attempt(key: ObjectKey, world: WebhookWorld, attempt: number): Promise<Result> {
    const { calls, client, destinations, guard, workspaces } = this.#deps;
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
      this.#deps.calls.leave(key);
      throw error;
    }
  }

  async #report({ bulkExport, now }: WebhookWorld, decision: ReportedDecision): Promise<BulkExport> {
    const { events, exports } = this.#deps;
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
