import type { JsonObject } from '#lib/json';
import type { KindRules } from './kind-rules.js';
import type { PrinterColumn } from './printer-column.js';
import type { ScalePaths } from './scale-paths.js';

/** One version of a resource as it is served. */
export interface ServedVersion {
  readonly name: string;
  readonly rules: KindRules;
  /** OpenAPI v3 schema of a custom resource; built-in ones have documents of their own. */
  readonly openApiSchema?: JsonObject;
  readonly hasStatus: boolean;
  readonly scale?: ScalePaths;
  /** Columns of a CRD; built-in kinds have printers of their own. */
  readonly columns: readonly PrinterColumn[];
  /** JSON paths of a CRD's selectable fields, with a leading dot. */
  readonly selectableFields: readonly string[];
  /** Warning for every use of a deprecated version. */
  readonly deprecation?: string;
}
