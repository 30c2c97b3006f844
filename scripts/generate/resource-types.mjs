import { kebab } from './kebab.mjs';
import { isOfPod } from './schema-table.mjs';

// The types of the resources (libs/resources/src/generated/), from crds/. Schemas with a `title` become types of their
// own, shared by all kinds; two schemas with one title must be equal.

const FOLDER = 'libs/resources/src/generated';
const HEADER = '// Generated from crds/ by `npm run generate`. Do not edit.\n';

const comment = (text, indent) => (text ? `${indent}/** ${text} */\n` : '');

/** Titled types met so far: name → declaration, and which of them the file being written refers to. */
const shared = new Map();
let used = new Set();

function typeOf(schema, indent) {
  if (schema.title) return titled(schema);
  if (isOfPod(schema))
    return schema.type === 'array'
      ? 'readonly Readonly<Record<string, unknown>>[]'
      : 'Readonly<Record<string, unknown>>';
  if (schema.enum) return schema.enum.map((word) => `'${word}'`).join(' | ');
  switch (schema.type) {
    case 'string':
      return 'string';
    case 'boolean':
      return 'boolean';
    case 'integer':
    case 'number':
      return 'number';
    case 'array': {
      const item = typeOf(schema.items, indent);
      return `readonly ${item.includes(' ') ? `(${item})` : item}[]`;
    }
    case 'object':
      if (schema.additionalProperties)
        return `Readonly<Record<string, ${typeOf(schema.additionalProperties, indent)}>>`;
      return `{\n${fields(schema, `${indent}  `)}${indent}}`;
    default:
      throw new Error(`a schema without a usable type: ${JSON.stringify(schema)}`);
  }
}

/** Defaulted fields are always there on objects that an API server answered, so they are not optional. */
function fields(schema, indent) {
  return Object.entries(schema.properties ?? {})
    .map(([name, field]) => {
      const isThere = schema.required?.includes(name) || field.default !== undefined;
      const about = comment(field.description, indent);
      return `${about}${indent}readonly ${name}${isThere ? '' : '?'}: ${typeOf(field, indent)};\n`;
    })
    .join('');
}

function titled(schema) {
  const name = schema.title;
  const body = `export interface ${name} {\n${fields(schema, '  ')}}\n`;
  const before = shared.get(name);
  if (before && before.body !== body) throw new Error(`two different schemas are titled ${name}`);
  const about = comment(schema.description, '');
  // a shape that serves several fields is described there
  shared.set(name, { body, about: before && before.about !== about ? '' : about });
  used.add(name);
  return name;
}

function kindFile(crd) {
  used = new Set(['ObjectMeta']);
  const { kind } = crd.spec.names;
  const { group } = crd.spec;
  const version = crd.spec.versions[0];
  const schema = version.schema.openAPIV3Schema;
  const { spec, status } = schema.properties;
  const body =
    `${comment(spec.description, '')}export interface ${kind}Spec {\n${fields(spec, '  ')}}\n\n` +
    `${comment(status.description, '')}export interface ${kind}Status {\n${fields(status, '  ')}}\n\n` +
    `${comment(schema.description, '')}export interface ${kind} {\n` +
    `  readonly apiVersion: '${group}/${version.name}';\n  readonly kind: '${kind}';\n` +
    `  readonly metadata: ObjectMeta;\n  readonly spec: ${kind}Spec;\n  readonly status?: ${kind}Status;\n}\n`;
  const names = [...used].filter((name) => name !== 'ObjectMeta' && new RegExp(`\\b${name}\\b`).test(body));
  const imports = names.length > 0 ? `import type { ${names.sort().join(', ')} } from './shared.js';\n` : '';
  return `${HEADER}import type { ObjectMeta } from '../object-meta.js';\n${imports}\n${body}`;
}

function tableFile(crds) {
  const kinds = crds.map((crd) => crd.spec.names.kind);
  const rows = crds.map((crd) => {
    const { group, names, scope, versions } = crd.spec;
    return (
      `  ${names.kind}: {\n    group: '${group}',\n    version: '${versions[0].name}',\n    kind: '${names.kind}',\n` +
      `    plural: '${names.plural}',\n    namespaced: ${scope === 'Namespaced'},\n  } as ResourceRef<${names.kind}>,\n`
    );
  });
  return (
    `${HEADER}import type { ResourceRef } from '../resource-ref.js';\n` +
    kinds.map((kind) => `import type { ${kind} } from './${kebab(kind)}.js';\n`).join('') +
    `\n/** apiVersion of every kind of the platform. */\nexport const API_VERSION = '${crds[0].spec.group}/${crds[0].spec.versions[0].name}';\n` +
    `\n/** Where each kind of the platform lives in the API, with the type of its objects. */\n` +
    `export const RESOURCES = {\n${rows.join('')}} as const;\n`
  );
}

/** @returns {{folder: string, files: Map<string, string>}} everything that the folder should hold */
export function resourceTypes(crds) {
  const files = new Map();
  for (const crd of crds) files.set(`${kebab(crd.spec.names.kind)}.ts`, kindFile(crd));
  files.set('resource-table.ts', tableFile(crds));
  const declarations = [...shared.keys()]
    .sort()
    .map((name) => shared.get(name).about + shared.get(name).body);
  files.set('shared.ts', `${HEADER}\n${declarations.join('\n')}`);
  return { folder: FOLDER, files };
}
