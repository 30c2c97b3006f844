import { KEY_SCOPES, type KeyScope } from '#lib/auth';
import { withBothWords } from './document-words.js';
import { problem } from './operation.js';
import { type RouteAccess, routeAccess, routeName, UNDECLARED } from './route-access.js';

/** The parts of a schema that an example follows from. */
interface ExampleOfSchema {
  readonly $ref?: string;
  readonly type?: string;
  readonly format?: string;
  readonly default?: unknown;
  readonly enum?: readonly unknown[];
  readonly allOf?: readonly ExampleOfSchema[];
  readonly anyOf?: readonly ExampleOfSchema[];
  readonly items?: ExampleOfSchema;
  readonly properties?: Readonly<Record<string, ExampleOfSchema>>;
  readonly required?: readonly string[];
  readonly minimum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
}

type Schemas = Readonly<Record<string, ExampleOfSchema>>;

const PREFIX = '#/components/schemas/';
const FORMATS: Readonly<Record<string, string>> = {
  uuid: '0192f0c4-7b5e-7c1a-9d3e-5a1b2c3d4e5f',
  'date-time': '2026-01-05T09:00:00.000Z',
};
/** The first one that a pattern allows is taken. */
const TEXTS = [
  'string',
  'https://example.com/path',
  '-----BEGIN CERTIFICATE-----\n…',
  'arn:aws:iam::111122223333:role/exports',
];

/**
 * Makes examples of component schemas. An example of a request has the required fields, or all its own fields
 * if none is required; an example of an answer has everything. A schema inside itself is left out.
 */
class Examples {
  constructor(private readonly schemas: Schemas) {}

  of(name: string): unknown {
    return this.#value({ $ref: PREFIX + name }, []);
  }

  /** @param within components that the value is a part of */
  #value(schema: ExampleOfSchema, within: readonly string[]): unknown {
    if (schema.$ref !== undefined) return this.#component(schema.$ref.slice(PREFIX.length), within);
    if (schema.default !== undefined && schema.default !== null) return schema.default;
    if (schema.enum) return schema.enum.find((choice) => choice !== null);
    const [choice] = schema.anyOf ?? schema.allOf ?? [];
    if (choice) return this.#value(choice, within);
    switch (schema.type) {
      case 'string':
        return textOf(schema);
      case 'integer':
      case 'number':
        return Math.max(schema.minimum ?? 1, 1);
      case 'boolean':
        return true;
      case 'array':
        return [this.#value(schema.items ?? {}, within)].filter((item) => item !== undefined);
      case 'object':
      case undefined:
      default:
        return this.#members(schema, within);
    }
  }

  #component(name: string, within: readonly string[]): unknown {
    const schema = this.schemas[name];
    return schema && !within.includes(name) ? this.#value(schema, [...within, name]) : undefined;
  }

  #members({ properties = {}, required = [] }: ExampleOfSchema, within: readonly string[]): object {
    const isRequest = within.at(-1)?.endsWith('Request') ?? false;
    const names =
      isRequest && (required.length > 0 || within.length > 1) ? required : Object.keys(properties);
    return Object.fromEntries(
      names
        .map((name) => [name, this.#value(properties[name] ?? {}, within)] as const)
        .filter(([, value]) => value !== undefined),
    );
  }
}

function textOf({ format, pattern, minLength = 0, maxLength = Infinity }: ExampleOfSchema): string {
  const known = format === undefined ? undefined : FORMATS[format];
  if (known !== undefined) return known;
  const allowed = pattern === undefined ? /^/ : new RegExp(pattern);
  const text = TEXTS.find((one) => allowed.test(one)) ?? '';
  return text.padEnd(minLength, 'x').slice(0, maxLength);
}

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
  error: { type: 'object', description: 'Only at routes of Iceberg: message, type and code' },
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
function forbidden(scopes: readonly KeyScope[]): Responses {
  if (scopes.length === KEY_SCOPES.length) return {};
  return { '403': refusal(`The key does not open this route; its scope must be ${scopes.join(' or ')}`) };
}

/** The refusals that follow from a route's parameters and its callers. */
function commonRefusals(access: RouteAccess, path: string, operation: OperationObject): Responses {
  const hasBody = operation.requestBody !== undefined;
  // unknown query parameters are refused also when the route has none
  const invalid = { 'application/json': { schema: { $ref: INVALID_REFERENCE } } };
  const wrongFields = { '422': { description: 'Every wrong field', content: invalid } };
  if (access.kind === 'public' && access.isForAll) return wrongFields;
  if (access.kind === 'public')
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
    ...forbidden(access.scopes),
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
  const access = routeAccess().get(routeName(method.toUpperCase(), path)) ?? UNDECLARED;
  return {
    ...operation,
    operationId: operationId(operation.operationId ?? ''),
    parameters,
    responses: { ...commonRefusals(access, path, { ...operation, parameters }), ...operation.responses },
    ...(access.kind === 'public' ? { security: [] } : {}),
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
