import type { Untyped } from '#lib/kube';
import type { Kind } from './find-kind.js';

/** kubectl leaves `managedFields` out, too. */
export function withoutManagers(object: Untyped): object {
  const { managedFields: _, ...metadata } = { managedFields: undefined, ...object.metadata };
  return { ...object, metadata };
}

/** `bulkexport.agentplane.dev/NAME`, as kubectl prints it. */
export function nameOf({ singular, group }: Kind, name: string): string {
  return `${singular}${group === '' ? '' : `.${group}`}/${name}`;
}

/** The same as a line. */
export function nameLine(kind: Kind, { metadata }: Untyped): string {
  return `${nameOf(kind, metadata.name)}\n`;
}
