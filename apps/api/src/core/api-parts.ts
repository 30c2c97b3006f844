import type { Provider } from '@nestjs/common';
import type { AuditLog } from '#lib/audit-log';
import { Informers, KubeClient } from '#lib/kube';
import type { Logger } from '#lib/telemetry';
import type { Clock } from '#lib/time';
import type { TraceStore } from '#lib/trace-store';
import { AnswerBudget } from './answer-budget.js';
import type { AttachmentStore } from './attachment-store.js';
import type { ApiConfig } from '../config.js';
import { openHomes } from '../kubernetes/secret-home.js';
import { API_CONFIG, ATTACHMENT_STORE, CLOCK, HOMES, LOG, TRACE_STORE } from './tokens.js';

/** Parts that the program passes to its providers. */
export interface ApiParts {
  readonly client: KubeClient;
  /** Informers that are not started yet: the providers register what they follow. */
  readonly informers: Informers;
  readonly store: TraceStore;
  readonly config: Pick<
    ApiConfig,
    | 'agentDatabaseImage'
    | 'drainMs'
    | 'maxBodyBytes'
    | 'maxBufferedBytes'
    | 'allowPrivateEndpoints'
    | 'maxUnfinishedExports'
    | 'exportWebhookPrivateAddresses'
    | 'operatorKey'
    | 'wrongKeysPerMinute'
    | 'corsOrigins'
    | 'publicUrl'
    | 'trustedProxies'
    | 'routeDomains'
    | 'addresses'
    | 'tlsCertificate'
    | 'tlsPort'
    | 'port'
    | 'lake'
    | 'attachmentBucket'
    | 'attachmentEndpoint'
    | 'attachmentRegion'
  >;
  /** Absent: attachments are not kept. */
  readonly attachments?: AttachmentStore | undefined;
  /** Absent: nothing is recorded. */
  readonly audit?: AuditLog;
  readonly log: Logger;
  readonly clock: Clock;
  /** Random number from 0 to 1, for pauses. */
  readonly random: () => number;
}

/** Providers that every part of the api needs: Kubernetes, the trace store, settings, time. */
export function coreProviders(parts: ApiParts): readonly Provider[] {
  const { client, informers, store, attachments, config, log, clock, random } = parts;
  return [
    { provide: KubeClient, useValue: client },
    { provide: Informers, useValue: informers },
    { provide: TRACE_STORE, useValue: store },
    { provide: ATTACHMENT_STORE, useFactory: () => attachments },
    { provide: API_CONFIG, useValue: config },
    { provide: AnswerBudget, useValue: new AnswerBudget(config.maxBufferedBytes) },
    { provide: LOG, useValue: log },
    { provide: CLOCK, useValue: clock },
    { provide: HOMES, useFactory: () => openHomes(client, informers, { clock, random }) },
  ];
}

/** The names alone, for a description of the routes in which nothing is made. */
export function coreNames(): readonly Provider[] {
  const core = [
    KubeClient,
    Informers,
    AnswerBudget,
    TRACE_STORE,
    ATTACHMENT_STORE,
    API_CONFIG,
    LOG,
    CLOCK,
    HOMES,
  ];
  return core.map((provide) => ({ provide, useValue: {} }));
}
