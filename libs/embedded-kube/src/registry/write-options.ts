import type { RequestContext } from '../http/request-context.js';
import type { ApiError } from '../status/api-error.js';
import { badRequest, invalid } from '../status/errors.js';

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
  const causes = [
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
  if (causes.length > 0) throw invalid({ group: 'meta.k8s.io', kind }, '', causes);
  return {
    dryRun: dryRun.length > 0,
    fieldValidation: fieldValidation === 'Strict' || fieldValidation === 'Ignore' ? fieldValidation : 'Warn',
    manager: fieldManager(context),
    force: isTrue(query.get('force')),
  };
}

/** The field manager: as given, else the first word of the user agent. */
function fieldManager({ query, headers }: RequestContext): string {
  const given = query.get('fieldManager');
  if (given) {
    if (given.length > 128) throw badRequest('fieldManager must have at most 128 characters');
    return given;
  }
  return (headers['user-agent'] ?? '').split('/')[0]?.slice(0, 128) || 'unknown';
}

export function isTrue(value: string | null): boolean {
  return value !== null && value !== 'false' && value !== '0';
}

/** Says about fields that the kind does not have what the caller asked to be told. */
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
