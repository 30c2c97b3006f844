import { type ApiError, invalid, type StatusCause } from '#lib/kube-semantics';
import { contentType } from '../http/media-type.js';
import { isTrue } from '../http/query-flag.js';
import type { RequestContext } from '../http/request-context.js';

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
