// For the specs, which are TypeScript.
export declare const LOCATION: string;
export declare function writeKindSchemas(
  folder: string,
  objects: readonly object[],
  openapi: unknown,
  crds: readonly object[],
): void;
