import {
  type ApiError,
  badRequest,
  invalid,
  recordAt,
  type StatusCause,
  textAt,
  textsAt,
} from '#lib/kube-semantics';
import { contentType, isTrue } from '../http/request-body.js';
import type { RequestContext } from '../http/request-context.js';
import { parseCount } from '../list/list-options.js';
import { readObject } from './body.js';

export type PropagationPolicy = 'Orphan' | 'Background' | 'Foreground';

export interface DeleteOptions {
  readonly dryRun?: boolean;
  readonly propagationPolicy?: PropagationPolicy;
  readonly gracePeriodSeconds?: number;
  /** Precondition: the object must still be this one. */
  readonly uid?: string;
  /** Precondition: the object must not have changed. */
  readonly resourceVersion?: string;
}

/** Reads DeleteOptions from the body or, without one, from the query. */
export async function readDeleteOptions(context: RequestContext): Promise<DeleteOptions> {
  const body = await readObject(context);
  if (body === undefined) return fromQuery(context.query);
  // another object sent by mistake must not delete this one
  if (body.kind !== undefined && body.kind !== 'DeleteOptions')
    throw badRequest(`no kind ${JSON.stringify(body.kind)} is registered for deletion: send DeleteOptions`);
  const preconditions = recordAt(body, 'preconditions');
  const grace = body.gracePeriodSeconds ?? undefined;
  if (grace !== undefined && !Number.isSafeInteger(grace))
    throw badRequest(
      'json: cannot unmarshal into Go struct field DeleteOptions.gracePeriodSeconds of type int64',
    );
  const policy = propagationPolicy(textAt(body, ['propagationPolicy']), body.orphanDependents);
  return {
    dryRun: isDryRun([...textsAt(body, 'dryRun'), ...context.query.getAll('dryRun')]),
    ...(policy ? { propagationPolicy: policy } : {}),
    ...(typeof grace === 'number' ? { gracePeriodSeconds: grace } : {}),
    ...(typeof preconditions.uid === 'string' ? { uid: preconditions.uid } : {}),
    ...(typeof preconditions.resourceVersion === 'string'
      ? { resourceVersion: preconditions.resourceVersion }
      : {}),
  };
}

function fromQuery(query: URLSearchParams): DeleteOptions {
  const grace = query.get('gracePeriodSeconds');
  const orphan = query.get('orphanDependents');
  const policy = propagationPolicy(
    query.get('propagationPolicy') ?? '',
    orphan === null ? undefined : isTrue(orphan),
  );
  return {
    dryRun: isDryRun(query.getAll('dryRun')),
    ...(policy ? { propagationPolicy: policy } : {}),
    ...(grace !== null && grace !== '' ? { gracePeriodSeconds: parseCount(grace) } : {}),
  };
}

function propagationPolicy(text: string, orphanDependents: unknown): PropagationPolicy | undefined {
  if (text !== '' && orphanDependents !== undefined && orphanDependents !== null) {
    const why = 'orphanDependents and deletionPropagation cannot be both set';
    throw refused('FieldValueInvalid', 'propagationPolicy', `Invalid value: ${JSON.stringify(text)}: ${why}`);
  }
  if (text === '') {
    if (orphanDependents === undefined) return undefined;
    return orphanDependents === true ? 'Orphan' : 'Background';
  }
  if (text === 'Orphan' || text === 'Background' || text === 'Foreground') return text;
  const message = `Unsupported value: "${text}": supported values: "Foreground", "Background", "Orphan", "nil"`;
  throw refused('FieldValueNotSupported', 'propagationPolicy', message);
}

/** Anything but `All` is refused: a mistake in the word must not delete. */
function isDryRun(words: readonly string[]): boolean {
  const given = words.filter((word) => word !== '');
  if (given.every((word) => word === 'All')) return given.length > 0;
  const shown = `[${given.map((word) => JSON.stringify(word)).join(',')}]`;
  throw refused('FieldValueNotSupported', 'dryRun', `Unsupported value: ${shown}: supported values: "All"`);
}

function refused(reason: string, field: string, message: string): ApiError {
  return invalid({ group: 'meta.k8s.io', kind: 'DeleteOptions' }, '', [{ reason, field, message }]);
}

export type FieldValidation = 'Strict' | 'Warn' | 'Ignore';

/** The query parameters of every write. */
export interface WriteOptions {
  readonly dryRun: boolean;
  readonly fieldValidation: FieldValidation;
  readonly manager: string;
  readonly force: boolean;
}

const VALIDATIONS: readonly string[] = ['Strict', 'Warn', 'Ignore', ''];

/** Reads and checks the options of a create, update or patch. */
export function writeOptions(
  context: RequestContext,
  kind: 'CreateOptions' | 'UpdateOptions' | 'PatchOptions',
): WriteOptions {
  const { query } = context;
  const dryRun = query.getAll('dryRun').filter((value) => value !== '');
  const fieldValidation = query.get('fieldValidation') ?? '';
  const causes: StatusCause[] = [
    ...dryRun
      .filter((value) => value !== 'All')
      .map((value) => ({
        reason: 'FieldValueNotSupported',
        field: 'dryRun',
        message: `Unsupported value: "${value}": supported values: "All"`,
      })),
    ...(VALIDATIONS.includes(fieldValidation)
      ? []
      : [
          {
            reason: 'FieldValueNotSupported',
            field: 'fieldValidation',
            message: `Unsupported value: "${fieldValidation}": supported values: "", "Ignore", "Warn", "Strict"`,
          },
        ]),
  ];
  causes.push(...managerProblems(query.get('fieldManager') ?? ''));
  if (query.get('force') !== null && !isApply(context)) {
    const message = 'Forbidden: may not be specified for non-apply patch';
    if (kind === 'PatchOptions') causes.push({ reason: 'FieldValueForbidden', field: 'force', message });
  }
  if (causes.length > 0) throw invalid({ group: 'meta.k8s.io', kind }, '', causes);
  return {
    dryRun: dryRun.length > 0,
    fieldValidation: fieldValidation === 'Strict' || fieldValidation === 'Ignore' ? fieldValidation : 'Warn',
    manager: fieldManager(context),
    force: isTrue(query.get('force')),
  };
}

function isApply({ headers }: RequestContext): boolean {
  return contentType(headers['content-type']) === 'application/apply-patch+yaml';
}

const MAX_MANAGER_BYTES = 128;

function managerProblems(manager: string): readonly StatusCause[] {
  const field = 'fieldManager';
  if (Buffer.byteLength(manager) > MAX_MANAGER_BYTES)
    return [
      {
        reason: 'FieldValueTooLong',
        field,
        message: `Too long: may not be more than ${MAX_MANAGER_BYTES} bytes`,
      },
    ];
  const position = [...manager].findIndex((letter) => /[\p{C}]/u.test(letter));
  if (position < 0) return [];
  const code = ([...manager][position]?.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0');
  const why = `invalid character U+${code} (at position ${position})`;
  return [
    { reason: 'FieldValueInvalid', field, message: `Invalid value: ${JSON.stringify(manager)}: ${why}` },
  ];
}

/** The field manager: as given, else the first word of the user agent. */
function fieldManager({ query, headers }: RequestContext): string {
  const given = query.get('fieldManager');
  if (given) return given;
  return (headers['user-agent'] ?? '').split('/')[0]?.slice(0, 128) || 'unknown';
}

/** Ignores, warns about or refuses fields that the kind does not have, as `fieldValidation` asks. */
export function reportUnknownFields(
  unknownFields: readonly string[],
  options: WriteOptions,
  context: Pick<RequestContext, 'warn'>,
  refuse: (message: string) => ApiError,
): void {
  if (unknownFields.length === 0 || options.fieldValidation === 'Ignore') return;
  const texts = unknownFields.map((field) => `unknown field "${field}"`);
  if (options.fieldValidation === 'Strict') throw refuse(`strict decoding error: ${texts.join(', ')}`);
  for (const text of texts) context.warn(text);
}
