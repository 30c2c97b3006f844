import 'reflect-metadata';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { UUID_PATTERN } from '#lib/resources';
import { ApiModule } from '../api-module.js';
import { camelCase } from './shape.js';
import { OpenApi } from './openapi.js';
import { ourWord } from './vocabulary.js';
import { MEMBERS } from './words.js';

interface Schema {
  readonly [keyword: string]: unknown;
  readonly $ref?: string;
  readonly allOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly additionalProperties?: Schema | boolean;
}

const BOUNDS = [
  'type',
  'minLength',
  'maxLength',
  'pattern',
  'minItems',
  'maxItems',
  'minProperties',
  'maxProperties',
  'minimum',
  'maximum',
  'exclusiveMinimum',
  'exclusiveMaximum',
  'multipleOf',
] as const;

/** Place in which a shape of the API is stored. */
interface Counterpart {
  readonly shape: string;
  readonly kind: string;
  /** Path below `spec`. */
  readonly path: readonly string[];
  /** Fields of the wire whose name in the resource is not their own in camelCase; dotted below `path`. */
  readonly renamed?: Readonly<Record<string, string>>;
  /** Fields of the wire that the resource does not have. */
  readonly wireOnly?: readonly string[];
  /** The same of members inside of fields; dotted. */
  readonly wireOnlyInside?: readonly string[];
  /** Fields of the resource that the wire does not have. */
  readonly resourceOnly?: readonly string[];
  /** Spellings of the wire that become one of the resource's choices. */
  readonly spellings?: Readonly<Record<string, readonly string[]>>;
}

const DEPLOYMENT = {
  kind: 'AgentDeployment',
  path: [],
  // the two are annotations of the resource
  wireOnly: ['secrets', 'display_name', 'tracked_packages'],
  resourceOnly: ['secretsRef', 'listenerRef', 'suspend', 'revisionHistoryLimit', 'revisionRequest'],
};

/** The members inside these shapes are compared as well, under their names in camelCase. */
const COUNTERPARTS: readonly Counterpart[] = [
  { shape: 'CreateDeploymentRequest', ...DEPLOYMENT },
  {
    shape: 'PatchDeploymentRequest',
    ...DEPLOYMENT,
    wireOnly: [...DEPLOYMENT.wireOnly, 'revision_source'],
    resourceOnly: DEPLOYMENT.resourceOnly.filter((name) => name !== 'suspend'),
  },
  {
    shape: 'CreateDestinationRequest',
    kind: 'BulkExportDestination',
    path: [],
    renamed: { destination_type: 'type' },
    // the settings of an object are members of their own in the resource
    wireOnly: ['credentials', 'aws_role_arn'],
    wireOnlyInside: ['config.s3_additional_kwargs', 'config.config_kwargs_s3'],
    resourceOnly: ['credentialsSecretRef'],
  },
  {
    shape: 'CreateExportRequest',
    kind: 'BulkExport',
    path: [],
    renamed: { session_id: 'tracingProject.id' },
    // a destination has an id on the wire and a name in the resource
    // a webhook has its secret on the wire and the name of a Secret in the resource
    wireOnly: ['bulk_export_destination_id', 'format', 'webhook', 'all_experiments'],
    // the kind of the files is a part of the format on the wire; what a schedule says of the exports that it makes, PATCH
    // of what it is asked for, and requests to continue, and for late runs, of the export that they name
    resourceOnly: [
      'destinationRef',
      'tracingProject',
      'format',
      'last',
      'cancel',
      'suspend',
      'webhook',
      'sourceExport',
      'runRequest',
      'continues',
      'lateRunsOf',
    ],
  },
];

/** One pattern in the dialects of JavaScript and of RE2. */
function dialectFree(pattern: unknown): unknown {
  if (typeof pattern !== 'string') return pattern;
  return pattern.replaceAll('\\/', '/').replace('[:cntrl:]', '\\u0000-\\u001f\\u007f');
}

const UUID_LENGTH = 36;
const UUID_TEXT = UUID_PATTERN.source.replaceAll('a-f', 'a-fA-F');

/** The bounds that a schema states, in one way of saying them. */
function boundsOf(schema: Schema): Readonly<Record<string, unknown>> {
  const stated = Object.fromEntries(
    BOUNDS.filter((name) => schema[name] !== undefined).map((name) => [name, schema[name]]),
  );
  if ('pattern' in stated) stated['pattern'] = dialectFree(stated['pattern']);
  if (schema['format'] === 'uuid')
    return { type: 'string', maxLength: UUID_LENGTH, pattern: UUID_TEXT, ...stated };
  if (!Array.isArray(schema['enum'])) return stated;
  // a choice has no length of its own; null says that the field may be left out
  return { enum: (schema['enum'] as unknown[]).filter((choice) => choice !== null).sort() };
}

/** False for the second name of a member. */
function isOurs([name]: readonly [string, unknown]): boolean {
  return !MEMBERS.some(({ vendors }) => vendors === name);
}

/** Choices of a member without their second words, which become ours. */
function inOurWords(at: string, bounds: Readonly<Record<string, unknown>>): typeof bounds {
  const choices = bounds['enum'];
  if (!Array.isArray(choices)) return bounds;
  const member = at.slice(at.lastIndexOf('.') + 1);
  return { ...bounds, enum: choices.filter((word: string) => ourWord(member, word) === word) };
}

/** Walks a shape of the wire and its place in the resource side by side. */
class Comparison {
  readonly differences: string[] = [];
  fields = 0;
  readonly #left = new Set<string>();

  constructor(readonly schemas: Readonly<Record<string, Schema>>) {}

  shape(counterpart: Counterpart, resource: Schema): void {
    const { shape, renamed = {}, wireOnly = [], resourceOnly = [], spellings = {} } = counterpart;
    for (const path of counterpart.wireOnlyInside ?? []) this.#left.add(`${shape}.${path}`);
    const fields = Object.entries(this.#resolve(this.schemas[shape] ?? {}).properties ?? {}).filter(isOurs);
    const met = new Set(resourceOnly);
    for (const [name, wire] of fields.filter(([field]) => !wireOnly.includes(field))) {
      const path = renamed[name] ?? camelCase(name);
      met.add(path);
      this.field(`${shape}.${name}`, wire, below(resource, path.split('.')), spellings[name]);
    }
    const known = new Set(fields.map(([name]) => name));
    for (const name of [...wireOnly, ...Object.keys(renamed), ...Object.keys(spellings)])
      if (!known.has(name)) this.differences.push(`${shape}.${name} is in the table and not on the wire`);
    this.#unmet(shape, resource, met);
  }

  field(at: string, given: Schema, kept: Schema | undefined, spellings: readonly string[] = []): void {
    if (!kept) {
      this.differences.push(`${at} is not in the resource`);
      return;
    }
    this.fields++;
    const wire = this.#resolve(given);
    const [ours, theirs] = [inOurWords(at, boundsOf(wire)), boundsOf(kept)];
    for (const name of new Set([...Object.keys(ours), ...Object.keys(theirs)])) {
      const expected =
        name === 'enum' ? [...((theirs['enum'] ?? []) as string[]), ...spellings].sort() : theirs[name];
      if (JSON.stringify(ours[name]) !== JSON.stringify(expected))
        this.differences.push(
          `${at} ${name}: ${shown(ours[name])} on the wire, ${shown(expected)} in the resource`,
        );
    }
    this.#inside(at, wire, kept);
  }

  #inside(at: string, wire: Schema, kept: Schema): void {
    if (wire.items) this.field(`${at}[]`, wire.items, kept.items);
    if (typeof wire.additionalProperties === 'object')
      this.field(`${at}{}`, wire.additionalProperties, ofValues(kept.additionalProperties));
    if (!wire.properties) return;
    for (const [name, member] of Object.entries(wire.properties).filter(isOurs))
      if (!this.#left.has(`${at}.${name}`))
        this.field(`${at}.${name}`, member, kept.properties?.[camelCase(name)]);
    this.#unmet(at, kept, new Set(Object.keys(wire.properties).map(camelCase)));
  }

  #unmet(at: string, resource: Schema, met: ReadonlySet<string>): void {
    for (const name of Object.keys(resource.properties ?? {}))
      if (!met.has(name)) this.differences.push(`${at}: ${name} of the resource is not on the wire`);
  }

  #resolve(schema: Schema): Schema {
    const [inherited] = schema.allOf ?? [];
    const reference = schema.$ref ?? inherited?.$ref;
    return reference === undefined
      ? schema
      : this.#resolve(this.schemas[reference.replace('#/components/schemas/', '')] ?? {});
  }
}

function below(schema: Schema | undefined, path: readonly string[]): Schema | undefined {
  return path.reduce<Schema | undefined>((found, name) => found?.properties?.[name], schema);
}

/** The values of a map. The resource judges their pattern, and names the member in its words. */
function ofValues(values: Schema | boolean | undefined): Schema | undefined {
  return typeof values === 'object' ? { ...values, pattern: undefined } : undefined;
}

function shown(value: unknown): string {
  return value === undefined ? 'none' : JSON.stringify(value);
}

interface Definition {
  readonly spec: {
    readonly names: { readonly kind: string };
    readonly versions: readonly { readonly schema: { readonly openAPIV3Schema: Schema } }[];
  };
}

/** `spec` of every kind, by the name of the kind. */
async function resourceSchemas(): Promise<ReadonlyMap<string, Schema | undefined>> {
  const folder = join(process.cwd(), 'crds');
  const files = (await readdir(folder)).filter((name) => name.endsWith('.yaml'));
  const definitions = await Promise.all(
    files.map(async (name) => parse(await readFile(join(folder, name), 'utf8')) as Definition),
  );
  return new Map(
    definitions.map(({ spec }) => [
      spec.names.kind,
      below(spec.versions[0]?.schema.openAPIV3Schema, ['spec']),
    ]),
  );
}

describe('bounds of requests', () => {
  let schemas: Readonly<Record<string, Schema>>;
  let resources: ReadonlyMap<string, Schema | undefined>;

  beforeAll(async () => {
    const document = (await new OpenApi(ApiModule.routes()).document()) as {
      readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
    };
    schemas = document.components.schemas;
    resources = await resourceSchemas();
  });

  it.each(COUNTERPARTS.map((one): [string, Counterpart] => [one.shape, one]))(
    'bounds %s as the resource that keeps it does',
    (_shape, counterpart) => {
      const comparison = new Comparison(schemas);
      comparison.shape(counterpart, below(resources.get(counterpart.kind), counterpart.path) ?? {});
      expect(comparison.differences).toEqual([]);
      expect(comparison.fields).toBeGreaterThan(5);
    },
  );
});
