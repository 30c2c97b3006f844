/** Key of an object: one per object, whatever version of the API it is read through. */
export interface ResourceKey {
  /** Qualified plural name: `pods`, `deployments.apps`. */
  readonly resource: string;
  /** Empty for cluster-scoped objects. */
  readonly namespace: string;
  readonly name: string;
}

/** One text for a key; `/` appears in none of the parts. */
export function keyText(key: ResourceKey): string {
  return `${key.resource}/${key.namespace}/${key.name}`;
}
