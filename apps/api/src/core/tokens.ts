/** Injection tokens of plain values and interfaces, which are not classes. */
export const ATTACHMENT_STORE = Symbol('store of attachments');
export const API_CONFIG = Symbol('configuration');
export const CLOCK = Symbol('clock');
export const HOMES = Symbol('homes of the resources');
export const LOG = Symbol('log');
export const TRACE_STORE = Symbol('trace store');
