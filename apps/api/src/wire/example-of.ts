/** The parts of a schema that an example follows from. */
interface Schema {
  readonly $ref?: string;
  readonly type?: string;
  readonly format?: string;
  readonly default?: unknown;
  readonly enum?: readonly unknown[];
  readonly allOf?: readonly Schema[];
  readonly anyOf?: readonly Schema[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly minimum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
}

type Schemas = Readonly<Record<string, Schema>>;

const PREFIX = '#/components/schemas/';
const FORMATS: Readonly<Record<string, string>> = {
  uuid: '0192f0c4-7b5e-7c1a-9d3e-5a1b2c3d4e5f',
  'date-time': '2026-01-05T09:00:00.000Z',
};
/** The first one that a pattern allows is taken. */
const TEXTS = ['string', 'https://example.com/path', '-----BEGIN CERTIFICATE-----\n…'];

/**
 * Makes examples of component schemas. An example of a request has the required fields, or all its own fields
 * if none is required; an example of an answer has everything. A schema inside itself is left out.
 */
export class Examples {
  readonly #schemas: Schemas;

  constructor(schemas: Schemas) {
    this.#schemas = schemas;
  }

  of(name: string): unknown {
    return this.#value({ $ref: PREFIX + name }, []);
  }

  /** @param within components that the value is a part of */
  #value(schema: Schema, within: readonly string[]): unknown {
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
    const schema = this.#schemas[name];
    return schema && !within.includes(name) ? this.#value(schema, [...within, name]) : undefined;
  }

  #members({ properties = {}, required = [] }: Schema, within: readonly string[]): object {
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

function textOf({ format, pattern, minLength = 0, maxLength = Infinity }: Schema): string {
  const known = format === undefined ? undefined : FORMATS[format];
  if (known !== undefined) return known;
  const allowed = pattern === undefined ? /^/ : new RegExp(pattern);
  const text = TEXTS.find((one) => allowed.test(one)) ?? '';
  return text.padEnd(minLength, 'x').slice(0, maxLength);
}
