import {
  errorsOfEach,
  type FieldError,
  forbidden,
  invalid,
  required,
  tooLong,
  tooMany,
} from './field-error.js';
import { jsonEquals, type JsonObject } from '#lib/json';
import { at, listAt, numberAt, recordAt, textAt, textsAt } from '../object/reading.js';
import { dnsLabel, dnsLabel1035, dnsSubdomain, labelValue, pathSegment, qualifiedName } from './names.js';

/** Rule for names of a kind. */
export type NameRule = 'dns-subdomain' | 'dns-label' | 'dns-label-1035' | 'path-segment';

export interface ObjectMetaRules {
  readonly namespaced: boolean;
  readonly nameRule: NameRule;
}

const MAX_ANNOTATIONS_BYTES = 256 * 1024;
/** Each is looked for, one by one, by the garbage collector of all namespaces. */
const MAX_OWNERS = 1_000;
const OWNER_FIELDS = [
  ['apiVersion', 'version must not be empty'],
  ['kind', 'must not be empty'],
  ['name', 'must not be empty'],
  ['uid', 'must not be empty'],
] as const;
const IMMUTABLE = [
  'name',
  'namespace',
  'uid',
  'creationTimestamp',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
];

/** Name, namespace, labels, annotations, finalizers, owners of an object to be created (name already generated). */
export function validateObjectMeta(object: JsonObject, rules: ObjectMetaRules): readonly FieldError[] {
  return validateMetadata(recordAt(object, 'metadata'), rules, 'metadata');
}

/** The same for metadata anywhere, as in an embedded resource. */
export function validateMetadata(
  metadata: JsonObject,
  rules: ObjectMetaRules,
  path: string,
): readonly FieldError[] {
  const finalizers = textsAt(metadata, 'finalizers');
  const both = finalizers.includes('orphan') && finalizers.includes('foregroundDeletion');
  return [
    ...validateName(metadata, rules.nameRule, path),
    ...validateNamespace(textAt(metadata, ['namespace']), rules.namespaced, path),
    ...validateDescription(metadata, path),
    ...errorsOfEach(finalizers, (name) =>
      qualifiedName(name).map((text) => invalid(`${path}.finalizers`, name, text)),
    ),
    ...(both
      ? [
          invalid(
            `${path}.finalizers`,
            finalizers,
            'finalizer orphan and foregroundDeletion cannot be both set',
          ),
        ]
      : []),
  ];
}

/**
 * The same for an update, and that nothing immutable changed (name, namespace, uid, creationTimestamp, new finalizers
 * while deleting …).
 */
export function validateObjectMetaUpdate(object: JsonObject, old: JsonObject): readonly FieldError[] {
  const metadata = recordAt(object, 'metadata');
  const before = recordAt(old, 'metadata');
  const errors: FieldError[] = [];
  const known = new Set(textsAt(before, 'finalizers'));
  const added = textsAt(metadata, 'finalizers').filter((name) => !known.has(name));
  if (typeof before['deletionTimestamp'] === 'string' && added.length > 0) {
    const list = `[]string{${added
      .toSorted()
      .map((name) => JSON.stringify(name))
      .join(', ')}}`;
    errors.push(
      forbidden(
        'metadata.finalizers',
        `no new finalizers can be added if the object is being deleted, found new finalizers ${list}`,
      ),
    );
  }
  if (textAt(metadata, ['resourceVersion']) === '') {
    errors.push(invalid('metadata.resourceVersion', '', 'must be specified for an update'));
  }
  if (numberAt(metadata, ['generation']) < numberAt(before, ['generation'])) {
    errors.push(
      invalid('metadata.generation', numberAt(metadata, ['generation']), 'must not be decremented'),
    );
  }
  for (const field of IMMUTABLE) {
    if (!jsonEquals(metadata[field] ?? null, before[field] ?? null)) {
      errors.push(invalid(`metadata.${field}`, metadata[field], 'field is immutable'));
    }
  }
  return [...errors, ...validateDescription(metadata, 'metadata')];
}

/** The problems of a name under a rule; a prefix may end in dashes. */
function nameProblems(name: string, rule: NameRule, isPrefix = false): readonly string[] {
  if (rule === 'path-segment') return pathSegment(name, isPrefix);
  const masked = isPrefix && name.length > 1 && name.endsWith('-') ? `${name.slice(0, -2)}a` : name;
  if (rule === 'dns-label') return dnsLabel(masked);
  return rule === 'dns-label-1035' ? dnsLabel1035(masked) : dnsSubdomain(masked);
}

function validateName(metadata: JsonObject, rule: NameRule, path: string): readonly FieldError[] {
  const prefix = textAt(metadata, ['generateName']);
  const name = textAt(metadata, ['name']);
  const errors =
    prefix === ''
      ? []
      : nameProblems(prefix, rule, true).map((text) => invalid(`${path}.generateName`, prefix, text));
  if (name === '') return [...errors, required(`${path}.name`, 'name or generateName is required')];
  return [...errors, ...nameProblems(name, rule).map((text) => invalid(`${path}.name`, name, text))];
}

function validateNamespace(namespace: string, isNamespaced: boolean, path: string): readonly FieldError[] {
  if (!isNamespaced)
    return namespace === '' ? [] : [forbidden(`${path}.namespace`, 'not allowed on this type')];
  if (namespace === '') return [required(`${path}.namespace`)];
  return dnsLabel(namespace).map((text) => invalid(`${path}.namespace`, namespace, text));
}

/** Labels, annotations and owners: what is checked on every write. */
function validateDescription(metadata: JsonObject, path: string): readonly FieldError[] {
  return [
    ...validateLabels(recordAt(metadata, 'labels'), `${path}.labels`),
    ...validateAnnotations(recordAt(metadata, 'annotations'), `${path}.annotations`),
    ...validateOwners(listAt(metadata, 'ownerReferences'), `${path}.ownerReferences`),
  ];
}

/** Keys and values of labels, also of a selector's `matchLabels`. */
export function validateLabels(labels: JsonObject, path: string): readonly FieldError[] {
  return errorsOfEach(Object.entries(labels), ([key, value]) => [
    ...qualifiedName(key).map((text) => invalid(path, key, text)),
    ...labelValue(String(value)).map((text) => invalid(path, value, text)),
  ]);
}

function validateAnnotations(annotations: JsonObject, path: string): readonly FieldError[] {
  const errors = errorsOfEach(Object.keys(annotations), (key) =>
    qualifiedName(key.toLowerCase()).map((text) => invalid(path, key, text)),
  );
  const size = Object.entries(annotations).reduce(
    (sum, [key, value]) => sum + Buffer.byteLength(key) + Buffer.byteLength(String(value)),
    0,
  );
  if (size > MAX_ANNOTATIONS_BYTES) errors.push(tooLong(path, MAX_ANNOTATIONS_BYTES));
  return errors;
}

function validateOwners(owners: readonly unknown[], path: string): readonly FieldError[] {
  if (owners.length > MAX_OWNERS) return [tooMany(path, owners.length, MAX_OWNERS)];
  let controller: string | undefined;
  let isNamedAgain = false;
  return errorsOfEach(owners, (owner) => {
    const errors = OWNER_FIELDS.filter(([field]) => textAt(owner, [field]) === '').map(([field, text]) =>
      invalid(`${path}.${field}`, '', text),
    );
    // once: the message shows all owners, and tens of thousands of them would fill all memory
    if (at(owner, 'controller') !== true || isNamedAgain) return errors;
    const named = `${textAt(owner, ['kind'])}/${textAt(owner, ['name'])}`;
    if (controller === undefined) {
      controller = named;
      return errors;
    }
    isNamedAgain = true;
    const text = `Only one reference can have Controller set to true. Found "true" in references for ${controller} and ${named}`;
    return [...errors, invalid(path, owners, text)];
  });
}
