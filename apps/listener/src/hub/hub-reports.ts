import { randomUUID } from 'node:crypto';
import { errorText } from '#lib/errors';
import type { KubeClient } from '#lib/kube';
import {
  FIELD_MANAGER,
  type KubeObject,
  type ListenerReport,
  type ResourceRef,
  RESOURCES,
} from '#lib/resources';
import type { Logger } from '#lib/telemetry';
import type { Clock } from '#lib/time';
import type { HubEvent } from './hub.js';

/**
 * Maximum number that the kind allows. The controller sees each write, so reports are lost only when more
 * come at once.
 */
const MOST = 20;
const MAX_MESSAGE_CHARS = 1_000;
/** Reports that come within it are written together. */
const PAUSE_MS = 1_000;

export interface HubReportsOptions {
  readonly client: Pick<KubeClient, 'applyStatus'>;
  readonly listener: { readonly namespace: string; readonly name: string };
  readonly clock: Clock;
  readonly log: Logger;
}

/**
 * The events of a remote listener. Kubernetes cannot limit which events an account creates, so the listener writes them into
 * the status of its own Listener, and the controller makes events of those about its deployments and revisions. Never throws
 * and never makes its caller wait.
 */
export class HubReports {
  #reports: readonly ListenerReport[] = [];
  #writing: Promise<void> | undefined;
  /** True when reports came that no write has taken. */
  #isStale = false;

  constructor(private readonly options: HubReportsOptions) {}

  record({ kind }: ResourceRef, { metadata: { name, uid = '' } }: KubeObject, event: HubEvent): void {
    if (kind !== 'AgentDeployment' && kind !== 'AgentRevision') return;
    const { type, reason } = event;
    const message = event.message.slice(0, MAX_MESSAGE_CHARS).toWellFormed();
    const report: ListenerReport = { id: randomUUID(), kind, name, uid, type, reason, message };
    this.#reports = [...this.#reports, report].slice(-MOST);
    this.#isStale = true;
    this.#writing ??= this.#writeAll();
  }

  /** Resolves when everything recorded so far is written or given up. */
  async flush(): Promise<void> {
    await this.#writing;
  }

  async #writeAll(): Promise<void> {
    const { clock } = this.options;
    while (this.#isStale) {
      this.#isStale = false;
      await this.#write();
      await clock.sleep(PAUSE_MS);
    }
    this.#writing = undefined;
  }

  async #write(): Promise<void> {
    const { client, listener, log } = this.options;
    try {
      await client.applyStatus(
        RESOURCES.Listener,
        { metadata: listener, status: { reports: this.#reports } },
        // the heartbeat owns the rest
        { fieldManager: FIELD_MANAGER.reports },
      );
    } catch (error) {
      log.debug({ listener: listener.name, problem: errorText(error) }, 'reports were not written');
    }
  }
}
