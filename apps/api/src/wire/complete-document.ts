import { KEY_SCOPES } from '#lib/auth';
import { isPublic, PUBLIC_PATHS, routeName, scopesOf } from './route-access.js';
import { withBothWords } from './document-words.js';
import { Examples } from './example-of.js';
import { problem } from './operation.js';

type Schema = Record<string, unknown>;

interface Parameter {
  readonly in?: string;
  readonly $ref?: string;
  readonly schema?: object;
}

interface OperationObject {
  readonly operationId?: string;
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: object;
  readonly responses: Readonly<Record<string, object>>;
}

type Responses = OperationObject['responses'];
type Method = 'get' | 'post' | 'patch' | 'put' | 'delete';

/** The parts of an OpenAPI document that are completed here. */
export interface Document {
  readonly paths: Readonly<Record<string, Readonly<Partial<Record<Method, OperationObject>>>>>;
  readonly components?: { readonly schemas?: Readonly<Record<string, object>> };
}

const METHODS: readonly Method[] = ['get', 'post', 'patch', 'put', 'delete'];
const INVALID_REFERENCE = '#/components/schemas/HTTPValidationError';

/** Schema of a google.rpc.Status. */
const STATUS = {
  code: { type: 'integer', description: 'Only at routes of OpenTelemetry: a code of google.rpc' },
  message: { type: 'string', description: 'Only at routes of OpenTelemetry: the detail as text' },
};

const ERROR_SCHEMAS = {
  Problem: {
    type: 'object',
    required: ['detail'],
    properties: { detail: { type: 'string', description: 'What is wrong, for people' }, ...STATUS },
    example: { detail: 'Not Found' },
  },
  HTTPValidationError: {
    type: 'object',
    required: ['detail'],
    properties: {
      detail: {
        type: 'array',
        description: 'Every wrong field',
        items: { $ref: '#/components/schemas/ValidationError' },
      },
      ...STATUS,
    },
    example: { detail: [{ loc: ['body', 'name'], msg: 'Field required', type: 'missing' }] },
  },
  ValidationError: {
    type: 'object',
    required: ['loc', 'msg', 'type'],
    properties: {
      loc: {
        type: 'array',
        description: 'Location: body, query or path, then names and positions',
        items: { anyOf: [{ type: 'string' }, { type: 'integer' }] },
      },
      msg: { type: 'string', description: 'What is wrong, for people' },
      type: { type: 'string', description: 'Stable word for the kind of mistake' },
    },
  },
} as const;

function refusal(description: string): object {
  return { description, content: problem(description) };
}

/** Every scope may do what no scope is refused. */
function forbidden(method: Method, path: string): Responses {
  const scopes = scopesOf(routeName(method.toUpperCase(), path));
  if (scopes.length === KEY_SCOPES.length) return {};
  return { '403': refusal(`The key does not open this route; its scope must be ${scopes.join(' or ')}`) };
}

/** The refusals that follow from a route's parameters and its callers. */
function commonRefusals(method: Method, path: string, operation: OperationObject): Responses {
  const hasBody = operation.requestBody !== undefined;
  // unknown query parameters are refused also when the route has none
  const invalid = { 'application/json': { schema: { $ref: INVALID_REFERENCE } } };
  const wrongFields = { '422': { description: 'Every wrong field', content: invalid } };
  if (PUBLIC_PATHS.has(path)) return wrongFields;
  if (isPublic(method.toUpperCase(), path))
    return {
      '400': refusal('The path cannot be decoded'),
      '404': refusal('No such token, or it has ended'),
      ...wrongFields,
      '429': refusal('Too many wrong tokens, or too much at once; retry after Retry-After seconds'),
      ...(hasBody
        ? {
            '413': refusal('The body is too large'),
            '415': refusal('The content type or encoding is not supported'),
          }
        : {}),
      '503': refusal('The database is unavailable; retry after Retry-After seconds'),
    };
  return {
    ...(path.includes('{') ? { '400': refusal('The path cannot be decoded') } : {}),
    '401': refusal('The API key is missing or not valid'),
    ...forbidden(method, path),
    '429': refusal('Too many wrong API keys, or too much at once; retry after Retry-After seconds'),
    '404': refusal('Not found, or it belongs to another tenant'),
    ...(hasBody
      ? {
          '413': refusal('The body is too large'),
          '415': refusal('The content type or encoding is not supported'),
        }
      : {}),
    ...wrongFields,
    '503': refusal('The database or the Kubernetes API is unavailable; retry after Retry-After seconds'),
    default: refusal('Any other error'),
  };
}

/** `RunsController_create[1]` is the route's second path, under `/api/v1`. */
function operationId(found: string): string {
  return found.replace('Controller_', '_').replace('[0]', '').replace('[1]', '_v1');
}

/** A parameter is given or left out; it is never null. */
function withoutNull({ nullable: _, ...schema }: Schema): Schema {
  const choices = schema['enum'];
  return Array.isArray(choices) ? { ...schema, enum: choices.filter((choice) => choice !== null) } : schema;
}

function completeParameters(operation: OperationObject): Parameter[] {
  return (operation.parameters ?? []).flatMap((parameter): Parameter[] => {
    if (parameter.$ref !== undefined) return [parameter];
    // the content type is a part of the body's description
    if (parameter.in === 'header') return [];
    const schema = withoutNull((parameter.schema ?? {}) as Schema);
    // parameters of a path are checked by PathId, but for those with bounds of their own
    const isUuid = parameter.in === 'path' && schema['maxLength'] === undefined;
    return [{ ...parameter, schema: isUuid ? { ...schema, format: 'uuid' } : schema }];
  });
}

function completeOperation(method: Method, path: string, operation: OperationObject): OperationObject {
  const parameters = completeParameters(operation);
  return {
    ...operation,
    operationId: operationId(operation.operationId ?? ''),
    parameters,
    responses: { ...commonRefusals(method, path, { ...operation, parameters }), ...operation.responses },
    ...(isPublic(method.toUpperCase(), path) ? { security: [] } : {}),
  };
}

/** Replaces the mark of any JSON value by the empty schema, which the decorators cannot express. */
function withAnyJson(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(withAnyJson);
  if (typeof schema !== 'object' || schema === null) return schema;
  if ('x-any-json' in schema) {
    const { 'x-any-json': _, type: __, ...rest } = schema as Schema;
    return rest;
  }
  return Object.fromEntries(Object.entries(schema).map(([name, value]) => [name, withAnyJson(value)]));
}

/** Examples stand at the schemas, once for all operations that take or answer them. */
function withExamples(schemas: Readonly<Record<string, object>>): Readonly<Record<string, object>> {
  const examples = new Examples(schemas);
  return Object.fromEntries(
    Object.entries(schemas).map(([name, schema]) => [name, { example: examples.of(name), ...schema }]),
  );
}

/**
 * Adds to the document the parts that hold for every route: refusals, ids of parameters, routes without a
 * key, and examples. Components are in the order of their names, so that the document is the same however
 * modules were loaded.
 */
export function completeDocument(document: Document): Document {
  const paths = Object.fromEntries(
    Object.entries(document.paths).map(([path, item]) => [
      path,
      Object.fromEntries(
        METHODS.flatMap((method) => {
          const operation = item[method];
          return operation ? [[method, completeOperation(method, path, operation)]] : [];
        }),
      ),
    ]),
  );
  const schemas = Object.entries({ ...document.components?.schemas, ...ERROR_SCHEMAS });
  return {
    ...document,
    paths,
    components: {
      ...document.components,
      schemas: withExamples(
        withBothWords(
          withAnyJson(
            Object.fromEntries(schemas.sort(([one], [other]) => (one < other ? -1 : 1))),
          ) as Readonly<Record<string, object>>,
        ),
      ),
    },
  };
}
