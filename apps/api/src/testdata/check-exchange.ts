/** The parts of an OpenAPI document that are looked at. */
export interface ApiDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<string, DocumentedOperation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

interface DocumentedOperation {
  readonly requestBody?: Content;
  readonly responses: Readonly<Record<string, Content>>;
}

interface Content {
  readonly content?: Readonly<Record<string, { readonly schema: Schema }>>;
}

interface Schema {
  readonly $ref?: string;
  readonly type?: string;
  readonly format?: string;
  readonly nullable?: boolean;
  readonly enum?: readonly unknown[];
  readonly allOf?: readonly Schema[];
  readonly anyOf?: readonly Schema[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | Schema;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
}

export interface Exchange {
  readonly method: string;
  /** With its query. */
  readonly path: string;
  readonly body: unknown;
  readonly status: number;
  readonly answer: unknown;
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** Compares what went over the wire with the document. */
class Check {
  readonly problems: string[] = [];

  constructor(
    readonly document: ApiDocument,
    /** Whether members that are not listed are problems. */
    readonly isClosed: boolean,
  ) {}

  value(schema: Schema, value: unknown, at: string): void {
    if (schema.$ref !== undefined) {
      const found = this.document.components.schemas[schema.$ref.replace('#/components/schemas/', '')];
      if (found) this.value(found, value, at);
      else this.problems.push(`${at}: ${schema.$ref} leads nowhere`);
      return;
    }
    if (value === null && schema.nullable) return;
    if (schema.anyOf) {
      const isAny = schema.anyOf.some((one) => {
        const inner = new Check(this.document, this.isClosed);
        inner.value(one, value, at);
        return inner.problems.length === 0;
      });
      if (!isAny) this.problems.push(`${at}: none of the possible shapes`);
    }
    for (const one of schema.allOf ?? []) this.value(one, value, at);
    if (schema.enum && !schema.enum.includes(value))
      this.problems.push(`${at}: ${String(value)} is no choice`);
    if (schema.type !== undefined) this.#typed(schema, value, at);
  }

  #typed(schema: Schema, value: unknown, at: string): void {
    const type = value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value;
    const expected = schema.type === 'integer' ? 'number' : schema.type;
    if (type !== expected) {
      this.problems.push(`${at}: ${type} instead of ${schema.type ?? ''}`);
      return;
    }
    if (typeof value === 'string') this.#text(schema, value, at);
    if (typeof value === 'number') this.#number(schema, value, at);
    if (Array.isArray(value) && schema.items)
      for (const [index, item] of value.entries()) this.value(schema.items, item, `${at}[${index}]`);
    if (type === 'object') this.#members(schema, value as Record<string, unknown>, at);
  }

  #text(schema: Schema, value: string, at: string): void {
    const { format, minLength = 0, maxLength = Infinity, pattern } = schema;
    const isRight =
      value.length >= minLength &&
      value.length <= maxLength &&
      (pattern === undefined || new RegExp(pattern).test(value)) &&
      (format !== 'uuid' || UUID.test(value)) &&
      (format !== 'date-time' || !Number.isNaN(Date.parse(value)));
    if (!isRight) this.problems.push(`${at}: ${JSON.stringify(value)} breaks ${JSON.stringify(schema)}`);
  }

  #number(schema: Schema, value: number, at: string): void {
    const { minimum = -Infinity, maximum = Infinity } = schema;
    if (value < minimum || value > maximum || (schema.type === 'integer' && !Number.isInteger(value)))
      this.problems.push(`${at}: ${value} breaks ${JSON.stringify(schema)}`);
  }

  #members(schema: Schema, value: Record<string, unknown>, at: string): void {
    for (const name of schema.required ?? [])
      if (!(name in value)) this.problems.push(`${at}.${name}: missing`);
    for (const [name, member] of Object.entries(value)) {
      const known = schema.properties?.[name];
      if (known) this.value(known, member, `${at}.${name}`);
      else if (typeof schema.additionalProperties === 'object')
        this.value(schema.additionalProperties, member, `${at}.${name}`);
      else if (schema.properties && this.isClosed && schema.additionalProperties !== true)
        this.problems.push(`${at}.${name}: not in the document`);
    }
  }
}

/** The documented operation that a request meets; fixed segments come before parameters. */
function findOperation(document: ApiDocument, method: string, path: string): DocumentedOperation | undefined {
  const asked = (path.split('?', 1)[0] ?? '').replace(/\/$/, '').split('/');
  const candidates = Object.keys(document.paths).filter((template) => {
    const segments = template.split('/');
    return (
      segments.length === asked.length &&
      segments.every((segment, index) => segment.startsWith('{') || segment === asked[index])
    );
  });
  const [best] = candidates.sort((one, other) => one.split('{').length - other.split('{').length);
  return best === undefined ? undefined : document.paths[best]?.[method.toLowerCase()];
}

/** What of an exchange the document does not say; empty when all is as documented. */
export function undocumentedIn(document: ApiDocument, exchange: Exchange): readonly string[] {
  const { method, path, body, status, answer } = exchange;
  const at = `${method} ${path} ${status}`;
  const operation = findOperation(document, method, path);
  if (!operation) return [401, 404, 405].includes(status) ? [] : [`${at}: not in the document`];
  const response =
    operation.responses[status] ?? (status >= 500 ? operation.responses['default'] : undefined);
  if (!response) return [`${at}: the status is not in the document`];
  const check = new Check(document, true);
  const schema = response.content?.['application/json']?.schema;
  if (schema) check.value(schema, answer, `${at} answer`);
  else if (answer !== undefined) check.problems.push(`${at}: an answer without a documented body`);
  const request = operation.requestBody?.content?.['application/json']?.schema;
  if (!request || status >= 300 || typeof body !== 'object') return check.problems;
  // what was taken must be allowed by the document
  const taken = new Check(document, false);
  taken.value(request, body, `${at} body`);
  return [...check.problems, ...taken.problems];
}

/** What of a request the document does not know: its route, or a member of its body. */
export function unknownInRequest(
  document: ApiDocument,
  { method, path, body }: Pick<Exchange, 'method' | 'path' | 'body'>,
): readonly string[] {
  const operation = findOperation(document, method, path);
  if (!operation) return [`${method} ${path}: not in the document`];
  const schema = operation.requestBody?.content?.['application/json']?.schema;
  if (!schema) return body === undefined ? [] : [`${method} ${path}: takes no body`];
  const check = new Check(document, true);
  check.value(schema, body, `${method} ${path} body`);
  return check.problems;
}
