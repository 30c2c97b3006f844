export {
  encryptionRefusal,
  GRAPH_TYPES_FILE,
  parseGraphConfiguration,
  type GraphConfiguration,
  type GraphEntry,
} from './parse-graph-configuration.js';
export type { AppSettings, HeaderChoice, HttpSettings, RouteGroup } from './http-settings.js';
export type { CorsSettings } from './http-settings.js';
export type { StoreIndex, StoreSettings, StoreTtl } from './store-settings.js';
export type { ThreadTtlSettings, ThreadTtlStrategy } from './checkpointer-settings.js';
export { webhookHeaders, webhookVariables, type WebhookSettings } from './parse-webhook-settings.js';
export type { AuthSettings, OpenapiSecurity } from './parse-graph-configuration.js';
export type { UiEntry, UiSettings } from './parse-ui-settings.js';
export { isModuleName, type GraphLanguage, type ModuleExport } from './parse-export.js';
export { describeOldLibrary, isOlder, LIBRARY_FLOORS, type LibraryFloor } from './library-floors.js';
export type { PythonSettings } from './parse-graph-configuration.js';
