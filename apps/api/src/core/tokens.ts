import type { Token } from '#lib/nest';
import type { Logger } from '#lib/telemetry';
import type { Clock } from '#lib/time';
import type { TraceStore } from '#lib/trace-store';
import type { ApiConfig } from '../config.js';
import type { Homes } from '../kubernetes/secret-home.js';
import type { AttachmentStore } from './attachment-store.js';

/** Injection tokens of plain values and interfaces, which are not classes. */
export const ATTACHMENT_STORE: Token<AttachmentStore | undefined> = Symbol('store of attachments');
export const API_CONFIG: Token<ApiConfig> = Symbol('configuration');
export const CLOCK: Token<Clock> = Symbol('clock');
export const HOMES: Token<Homes> = Symbol('homes of the resources');
export const LOG: Token<Logger> = Symbol('log');
export const TRACE_STORE: Token<TraceStore> = Symbol('trace store');
