import type { JsonObject } from '#lib/json';
import { recordAt, textAt } from '../object/reading.js';
import type { CompiledSchema } from '../schema/compiled-schema.js';
import { appliedProblem } from './check-applied.js';
import { conflictsText, describeConflicts } from './conflict-text.js';
import type { FieldConflict } from './field-conflict.js';
import { fieldsOfLastApplied, withLastApplied } from './last-applied.js';
import { entryId, type Managed, NOBODY, parseManaged, withManaged } from './managed-fields.js';
import { updatedManaged } from './track-update.js';
import { resetFields } from './unowned.js';
import { ownApply, type OwnedApply, type Write } from './field-owners.js';

export interface ApplyRequest {
  /** The stored object; undefined creates. */
  readonly live: JsonObject | undefined;
  /** The applied configuration, with `apiVersion`, `kind` and `metadata.name`. */
  readonly applied: JsonObject;
  /** Field manager, 1 to 128 characters. */
  readonly manager: string;
  readonly force: boolean;
  readonly schema: CompiledSchema;
  /** Version that the request uses, `apps/v1`. */
  readonly apiVersion: string;
  /** `status`, `scale` …; undefined for the object itself. */
  readonly subresource?: string;
  /** True when the kind's status is a subresource; without a subresource, when the schema has a status. */
  readonly hasStatus?: boolean;
  /** Now, RFC 3339 with seconds: `2026-01-02T03:04:05Z`. */
  readonly time: string;
}

export type ApplyResult =
  /**
   * `object` has its managedFields set; defaults and `withoutNoOp` are the caller's next steps. `changed` is false when
   * nothing but ownership may have changed.
   */
  | { readonly kind: 'applied'; readonly object: JsonObject; readonly changed: boolean }
  /** Answer 409 with `message` (`Apply failed with 1 conflict: …`) and the conflicts as causes: the first of very many. */
  | { readonly kind: 'conflict'; readonly conflicts: readonly FieldConflict[]; readonly message: string }
  /** The configuration itself is wrong: 400 when it carries managedFields or another version, 500 like Kubernetes when it does not fit the schema. */
  | { readonly kind: 'invalid'; readonly status: 400 | 500; readonly message: string };

/** Server-side apply of a configuration, as Kubernetes merges it. Pure. */
export function applyServerSide(request: ApplyRequest): ApplyResult {
  const refused = refusal(request);
  if (refused !== undefined) return refused;
  const { apiVersion, kind } = request.applied;
  const live = request.live ?? { apiVersion, kind, metadata: {} };
  const managed = startingManaged(request, live);
  const write = writeOf(request, live, managed);
  const outcome = ownApply(write, request.applied, request.force);
  return settle(request, write, request.manager === 'kubectl' ? takeOver(request, write, outcome) : outcome);
}

function refusal(request: ApplyRequest): ApplyResult | undefined {
  const { applied, apiVersion } = request;
  const version = textAt(applied, ['apiVersion']);
  if (version !== apiVersion) {
    const message = `invalid object type: ${version}, Kind=${textAt(applied, ['kind'])}`;
    return { kind: 'invalid', status: 400, message };
  }
  if ((recordAt(applied, 'metadata')['managedFields'] ?? null) !== null) {
    return { kind: 'invalid', status: 400, message: 'metadata.managedFields must be nil' };
  }
  const problem = appliedProblem(applied, request.schema.root);
  if (problem === undefined) return undefined;
  const named = `${textAt(applied, ['metadata', 'namespace'])}/${textAt(applied, ['metadata', 'name'])}`;
  const type = `${version}, Kind=${textAt(applied, ['kind'])}`;
  const message = `failed to create typed patch object (${named}; ${type}): ${problem}`;
  return { kind: 'invalid', status: 500, message };
}

/** The owners before: an untracked object belongs to `before-first-apply`. */
function startingManaged(request: ApplyRequest, live: JsonObject): Managed {
  const stored = parseManaged(live) ?? NOBODY;
  if (stored.size > 0 || request.live === undefined) return stored;
  const { schema, apiVersion, time, hasStatus } = request;
  const first = { old: undefined, next: live, manager: 'before-first-apply', schema, apiVersion, time };
  return updatedManaged({ ...first, ...(hasStatus === undefined ? {} : { hasStatus }) }, NOBODY, schema);
}

function writeOf(request: ApplyRequest, live: JsonObject, managed: Managed): Write {
  const subresource = request.subresource ?? '';
  const { manager, apiVersion, time, schema } = request;
  const id = entryId({ manager, operation: 'Apply', apiVersion, subresource });
  return {
    live: withManaged(live, NOBODY),
    schema: schema.root,
    managed,
    id,
    writer: { manager, operation: 'Apply', apiVersion, subresource, time },
    reset: resetFields(subresource, schema.root, request.hasStatus),
  };
}

/** kubectl takes over what its own client-side apply had set: those conflicts are none. */
function takeOver(request: ApplyRequest, write: Write, outcome: OwnedApply): OwnedApply {
  if (outcome.kind !== 'conflict') return outcome;
  const allowed = fieldsOfLastApplied(write.live, write.schema, request.apiVersion);
  const left = new Map(
    [...outcome.conflicts]
      .map(([id, set]) => [id, set.difference(allowed)] as const)
      .filter(([, set]) => !set.isEmpty),
  );
  return left.size > 0 ? { kind: 'conflict', conflicts: left } : ownApply(write, request.applied, true);
}

function settle(request: ApplyRequest, write: Write, outcome: OwnedApply): ApplyResult {
  if (outcome.kind === 'conflict') {
    const described = describeConflicts(outcome.conflicts, write.managed);
    return { kind: 'conflict', conflicts: described.shown, message: conflictsText(described) };
  }
  const managed = outcome.changed ? outcome.managed : withOldTime(outcome.managed, write);
  const object =
    request.manager === 'kubectl' ? withLastApplied(outcome.object, request.applied) : outcome.object;
  return { kind: 'applied', object: withManaged(object, managed), changed: outcome.changed };
}

/** An apply that changed nothing keeps its old time; a new owner has none. */
function withOldTime(managed: Managed, write: Write): Managed {
  const own = managed.get(write.id);
  if (own === undefined) return managed;
  const { time: _, ...rest } = own;
  const before = write.managed.get(write.id)?.time;
  return new Map(managed).set(write.id, { ...rest, ...(before === undefined ? {} : { time: before }) });
}
