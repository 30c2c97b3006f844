import type { KubeObject } from '../object/kube-object.js';
import { at, textAt } from '../object/reading.js';
import type { ServedType } from '../served-type/served-type.js';
import { badRequest, qualified } from '../status/errors.js';
import { type LabelSelector, matchesLabels, parseLabelSelector } from './label-selector.js';

interface FieldRequirement {
  readonly path: string;
  /** The names of the path. */
  readonly names: readonly string[];
  readonly isEqual: boolean;
  readonly value: string;
}

type FieldSelector = readonly FieldRequirement[];

/** Fields that can be selected besides `metadata.name` and `metadata.namespace`. */
const FIELDS: Readonly<Record<string, readonly string[]>> = {
  pods: [
    'spec.nodeName',
    'spec.restartPolicy',
    'spec.schedulerName',
    'spec.serviceAccountName',
    'spec.hostNetwork',
    'status.phase',
    'status.podIP',
    'status.podIPs',
    'status.nominatedNodeName',
  ],
  nodes: ['spec.unschedulable'],
  namespaces: ['status.phase'],
  secrets: ['type'],
  services: ['spec.clusterIP', 'spec.type'],
  events: [
    'involvedObject.kind',
    'involvedObject.namespace',
    'involvedObject.name',
    'involvedObject.uid',
    'involvedObject.apiVersion',
    'involvedObject.resourceVersion',
    'involvedObject.fieldPath',
    'reason',
    'reportingComponent',
    'source',
    'type',
  ],
  'replicasets.apps': ['status.replicas'],
  'jobs.batch': ['status.successful'],
};

/** A selector of kilobytes would be compared with every object of the kind while all others wait. */
const MAX_REQUIREMENTS = 16;

const BOOLEAN_FIELDS = new Set(['spec.unschedulable', 'spec.hostNetwork']);

/** Parses `metadata.name=x,status.phase!=Running`. Throws 400 for fields that cannot be selected. */
export function parseFieldSelector(text: string, { type, version }: ServedType): FieldSelector {
  const known = new Set([
    'metadata.name',
    ...(type.namespaced || !type.isCustom ? ['metadata.namespace'] : []),
    ...(FIELDS[qualified(type)] ?? []),
    ...version.selectableFields.map((path) => path.replace(/^\./, '')),
  ]);
  const found = parts(text);
  if (found.length > MAX_REQUIREMENTS)
    throw badRequest(
      `invalid field selector: it has ${found.length} requirements, at most ${MAX_REQUIREMENTS} are supported`,
    );
  return found.map((part) => parseRequirement(part, known, text));
}

function parts(text: string): readonly string[] {
  return text.split(/(?<!\\),/).filter((part) => part !== '');
}

const REQUIREMENT = /^([^=!]+)(==|=|!=)(.*)$/s;

/** The one value that a selector leaves to a field, before it is known of what kind; empty when there may be more. */
export function exactField(text: string, wanted: string): string {
  for (const part of parts(text)) {
    const [, path, operator, value = ''] = REQUIREMENT.exec(part) ?? [];
    if (path === wanted && operator !== '!=') return value.replaceAll(/\\(.)/g, '$1');
  }
  return '';
}

function parseRequirement(part: string, known: ReadonlySet<string>, whole: string): FieldRequirement {
  const match = REQUIREMENT.exec(part);
  if (!match) throw badRequest(`invalid selector: '${whole}'; can't understand '${part}'`);
  const path = match[1] ?? '';
  if (!known.has(path)) throw badRequest(`field label not supported: ${path}`);
  return {
    path,
    names: path.split('.'),
    isEqual: match[2] !== '!=',
    value: (match[3] ?? '').replaceAll(/\\(.)/g, '$1'),
  };
}

export function matchesFields(selector: FieldSelector, object: KubeObject): boolean {
  return selector.every((one) => (fieldText(object, one) === one.value) === one.isEqual);
}

/** The only name that can match, when the selector says so: such lists and watches need not look at the others. */
function selectedName(selector: FieldSelector): string | undefined {
  return selector.find(({ path, isEqual }) => path === 'metadata.name' && isEqual)?.value;
}

function fieldText(object: KubeObject, { path, names }: FieldRequirement): string {
  if (object.kind === 'Event') {
    if (path === 'source')
      return textAt(object, ['source', 'component']) || textAt(object, ['reportingComponent']);
    if (path === 'reportingComponent') return textAt(object, ['reportingComponent']);
  }
  if (object.kind === 'Job' && path === 'status.successful')
    return textAt(object, ['status', 'succeeded'], '0');
  if (path === 'status.podIPs') return textAt(object, ['status', 'podIP']);
  const fallback = BOOLEAN_FIELDS.has(path) ? 'false' : path === 'status.replicas' ? '0' : '';
  return at(object, ...names) === undefined ? fallback : textAt(object, names);
}

/** Selection of the objects of a list, a watch or a deletecollection. */
export interface Selection {
  readonly namespace: string | undefined;
  readonly labels: LabelSelector;
  readonly fields: FieldSelector;
  /** The only name that can match. */
  readonly name: string | undefined;
}

/** Reads the selectors of a request; a name in the path narrows a watch to one object. */
export function parseSelection(
  query: URLSearchParams,
  served: ServedType,
  namespace: string,
  name: string,
): Selection {
  const fields = parseFieldSelector(query.get('fieldSelector') ?? '', served);
  return {
    namespace: served.type.namespaced && namespace !== '' ? namespace : undefined,
    labels: parseLabelSelector(query.get('labelSelector') ?? ''),
    fields,
    name: name || selectedName(fields),
  };
}

export function isSelected({ namespace, name, labels, fields }: Selection, object: KubeObject): boolean {
  const { metadata } = object;
  if (namespace !== undefined && metadata.namespace !== namespace) return false;
  if (name !== undefined && metadata.name !== name) return false;
  return matchesLabels(labels, metadata.labels) && matchesFields(fields, object);
}
