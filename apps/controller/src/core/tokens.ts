/** Injection tokens for plain values and interfaces, which have no class that Nest could use as token. */
export const CACHES = Symbol('caches');
export const CLOCK = Symbol('clock');
export const CONNECTION = Symbol('kubernetes connection');
export const CONTROLLER_CONFIG = Symbol('configuration');
export const LOG = Symbol('log');
export const LOST_LEADERSHIP = Symbol('what follows when leadership is lost');
export const OWNED_PARTS = Symbol('parts that the work starts and stops');
export const TRACE_STORE = Symbol('trace store');
