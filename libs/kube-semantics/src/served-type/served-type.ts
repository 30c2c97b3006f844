import type { ResourceType } from './resource-type.js';
import type { ServedVersion } from './served-version.js';

/** A resource type as it is asked for in one of its versions. */
export interface ServedType {
  readonly type: ResourceType;
  readonly version: ServedVersion;
}
