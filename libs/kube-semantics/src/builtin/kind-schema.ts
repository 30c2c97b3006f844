import { knownDefinition } from '../schema/known-definitions.js';
import type { SchemaNode } from '../schema/schema-node.js';
import { kindNames } from './kind-names.js';

/** The schema of a built-in kind; undefined for any other. */
export function builtinKindSchema(group: string, kind: string): SchemaNode | undefined {
  const found = kindNames.find((names) => names.group === group && names.kind === kind);
  return found === undefined ? undefined : knownDefinition(found.definition);
}
