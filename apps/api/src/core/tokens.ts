/** What Nest hands in under a name of its own, because it is a plain value or an interface and no class. */
export const ATTACHMENT_STORE = Symbol('store of attachments');
export const API_CONFIG = Symbol('configuration');
export const CLOCK = Symbol('clock');
export const HOMES = Symbol('homes of the resources');
export const LOG = Symbol('log');
export const TRACE_STORE = Symbol('trace store');
