import { isJsonObject, jsonEquals, type JsonObject } from '#lib/json';
import { listAt, numberAt, recordAt, textAt } from '../../object/reading.js';
import {
  duplicate,
  type FieldError,
  forbidden,
  invalid,
  notSupported,
  required,
} from '../../schema/field-error.js';
import { dnsLabel, dnsSubdomain } from '../../schema/names.js';
import { validateLabels } from '../../schema/object-meta.js';
import { eachItem, immutable, named, nonNegative, oneOf, problems, type Validator } from './checks.js';
import { validateContainers } from './container.js';
import { isEmptySelector, selectorMatches, validateSelector } from './label-selector.js';

const RESTART_POLICIES = ['Always', 'OnFailure', 'Never'];
const DNS_POLICIES = ['ClusterFirstWithHostNet', 'ClusterFirst', 'Default', 'None'];
const MAX_INT32 = 2_147_483_647;

/** The specification of a pod or a template. */
export function validatePodSpec(spec: JsonObject, path: string): readonly FieldError[] {
  const volumes = new Set(listAt(spec, 'volumes').map((volume) => textAt(volume, ['name'])));
  const containers = new Set(listAt(spec, 'containers').map((container) => textAt(container, ['name'])));
  const account = textAt(spec, ['serviceAccountName']);
  return [
    ...validateVolumes(spec['volumes'], `${path}.volumes`),
    ...(containers.size === 0 ? [required(`${path}.containers`)] : []),
    ...validateContainers(spec['containers'], `${path}.containers`, volumes),
    ...validateContainers(spec['initContainers'], `${path}.initContainers`, volumes, containers),
    ...oneOf(spec['restartPolicy'], `${path}.restartPolicy`, RESTART_POLICIES),
    ...oneOf(spec['dnsPolicy'], `${path}.dnsPolicy`, DNS_POLICIES),
    ...validateLabels(recordAt(spec, 'nodeSelector'), `${path}.nodeSelector`),
    ...(account === '' ? [] : problems(account, `${path}.serviceAccountName`, dnsSubdomain(account))),
    ...validateDeadline(spec['activeDeadlineSeconds'], `${path}.activeDeadlineSeconds`),
    ...nonNegative(spec, path, 'terminationGracePeriodSeconds'),
  ];
}

function validateDeadline(value: unknown, path: string): readonly FieldError[] {
  if (typeof value !== 'number' || (value >= 1 && value <= MAX_INT32)) return [];
  return [invalid(path, value, `must be between 1 and ${MAX_INT32}, inclusive`)];
}

function validateVolumes(list: unknown, path: string): readonly FieldError[] {
  const seen = new Set<string>();
  return eachItem(list, path, (item, at) => {
    const name = textAt(item, ['name']);
    const errors = [...validateVolumeSource(item, at), ...named(name, `${at}.name`, dnsLabel)];
    if (name !== '' && seen.has(name)) errors.push(duplicate(`${at}.name`, name));
    seen.add(name);
    return errors;
  });
}

function validateVolumeSource(volume: JsonObject, path: string): readonly FieldError[] {
  const sources = Object.keys(volume).filter((name) => isJsonObject(volume[name]));
  const [first, ...more] = sources;
  if (first === undefined) return [required(path, 'must specify a volume type')];
  const many = more.map((name) => forbidden(`${path}.${name}`, 'may not specify more than 1 volume type'));
  const source = recordAt(volume, first);
  const needs = {
    secret: 'secretName',
    configMap: 'name',
    hostPath: 'path',
    persistentVolumeClaim: 'claimName',
  };
  const need = Object.entries(needs).find(([name]) => name === first)?.[1];
  const missing = need === undefined ? [] : named(source[need], `${path}.${first}.${need}`);
  return [...missing, ...many];
}

/** Few fields of an existing pod may change. */
function validatePodSpecUpdate(spec: JsonObject, old: JsonObject, path: string): readonly FieldError[] {
  if (jsonEquals(comparable(spec), comparable(old))) return [];
  const fields = [
    '`spec.containers[*].image`',
    '`spec.initContainers[*].image`',
    '`spec.activeDeadlineSeconds`',
    '`spec.tolerations` (only additions to existing tolerations)',
    '`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)',
  ];
  return [forbidden(path, `pod updates may not change fields other than ${fields.join(',')}`)];
}

/** Everything in a pod's specification that stays as it is. */
function comparable(spec: JsonObject): JsonObject {
  const { activeDeadlineSeconds: _, tolerations: __, nodeName: ___, ...rest } = spec;
  const withoutImages = (name: string): unknown =>
    listAt(spec, name).map((container) => ({ ...(isJsonObject(container) ? container : {}), image: '' }));
  return {
    ...rest,
    containers: withoutImages('containers'),
    initContainers: withoutImages('initContainers'),
  };
}

const TEMPLATE = 'spec.template';

export const validatePod: Validator = (pod, old) => {
  const spec = recordAt(pod, 'spec');
  const errors = validatePodSpec(spec, 'spec');
  return old === undefined
    ? errors
    : [...errors, ...validatePodSpecUpdate(spec, recordAt(old, 'spec'), 'spec')];
};

export const validatePodTemplate: Validator = (template) =>
  validateTemplate(recordAt(template, 'template'), 'template');

export const validateDeployment: Validator = (deployment, old) => {
  const spec = recordAt(deployment, 'spec');
  return [
    ...nonNegative(spec, 'spec', 'replicas'),
    ...validateReplicated(spec),
    ...validateStrategy(recordAt(spec, 'strategy'), 'spec.strategy'),
    ...nonNegative(spec, 'spec', 'minReadySeconds', 'revisionHistoryLimit', 'progressDeadlineSeconds'),
    ...validateProgress(spec),
    ...sameSelector(spec, old),
  ];
};

export const validateReplicaSet: Validator = (set, old) => {
  const spec = recordAt(set, 'spec');
  return [
    ...nonNegative(spec, 'spec', 'replicas', 'minReadySeconds'),
    ...validateReplicated(spec),
    ...sameSelector(spec, old),
  ];
};

export const validateStatefulSet: Validator = (set, old) => {
  const spec = recordAt(set, 'spec');
  const errors = [
    ...oneOf(spec['podManagementPolicy'], 'spec.podManagementPolicy', ['OrderedReady', 'Parallel']),
    ...nonNegative(spec, 'spec', 'replicas', 'minReadySeconds', 'revisionHistoryLimit'),
    ...validateReplicated(spec),
  ];
  if (old === undefined) return errors;
  const mutable = ['replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit'];
  const fixed = (value: JsonObject): JsonObject =>
    Object.fromEntries(
      Object.entries(value).filter(
        ([name]) => ![...mutable, 'persistentVolumeClaimRetentionPolicy', 'minReadySeconds'].includes(name),
      ),
    );
  const changed = immutable(fixed(spec), fixed(recordAt(old, 'spec')), 'spec');
  const text = `updates to statefulset spec for fields other than ${mutable.map((name) => `'${name}'`).join(', ')}, 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden`;
  return changed.length === 0 ? errors : [...errors, forbidden('spec', text)];
};

export const validateJob: Validator = (job, old) => {
  const spec = recordAt(job, 'spec');
  const template = recordAt(spec, 'template');
  const policy = textAt(template, ['spec', 'restartPolicy']);
  const errors: FieldError[] = [
    ...nonNegative(spec, 'spec', 'parallelism', 'completions', 'activeDeadlineSeconds', 'backoffLimit'),
    ...nonNegative(spec, 'spec', 'ttlSecondsAfterFinished'),
    ...oneOf(spec['completionMode'], 'spec.completionMode', ['NonIndexed', 'Indexed']),
    ...validateTemplate(template),
  ];
  if (policy === 'Always' || policy === '') {
    errors.push(required(`${TEMPLATE}.spec.restartPolicy`, 'valid values: "OnFailure", "Never"'));
  }
  if (old === undefined) return errors;
  const before = recordAt(old, 'spec');
  const isFinishable = spec['completionMode'] !== 'Indexed';
  return [
    ...errors,
    ...(isFinishable ? immutable(spec['completions'], before['completions'], 'spec.completions') : []),
    ...immutable(spec['selector'], before['selector'], 'spec.selector'),
    ...(isSuspendedAndIdle(old) ? [] : immutable(spec['template'], before['template'], TEMPLATE)),
    ...immutable(spec['completionMode'], before['completionMode'], 'spec.completionMode'),
  ];
};

/** The scheduling fields of such a Job's template may still change. */
function isSuspendedAndIdle(job: JsonObject): boolean {
  return recordAt(job, 'spec')['suspend'] === true && recordAt(job, 'status')['startTime'] === undefined;
}

/** Selector and template of what keeps a number of pods. */
function validateReplicated(spec: JsonObject): readonly FieldError[] {
  const { selector } = spec;
  const template = recordAt(spec, 'template');
  const selected = isJsonObject(selector) ? selectorErrors(selector) : [required('spec.selector')];
  const policy = textAt(template, ['spec', 'restartPolicy']);
  return [
    ...selected,
    ...strangerErrors(selector, template, selected),
    ...validateTemplate(template),
    ...(policy === 'OnFailure' || policy === 'Never'
      ? [notSupported(`${TEMPLATE}.spec.restartPolicy`, policy, ['Always'])]
      : []),
    ...(recordAt(template, 'spec')['activeDeadlineSeconds'] === undefined
      ? []
      : [
          forbidden(
            `${TEMPLATE}.spec.activeDeadlineSeconds`,
            'activeDeadlineSeconds in ReplicaSet is not Supported',
          ),
        ]),
  ];
}

/** The template must be what the selector selects. */
function strangerErrors(
  selector: unknown,
  template: JsonObject,
  found: readonly FieldError[],
): readonly FieldError[] {
  if (found.some((error) => error.field.endsWith('.operator') || error.field.endsWith('.values'))) {
    return [invalid('spec.selector', selector, 'invalid label selector')];
  }
  const labels = recordAt(template, 'metadata', 'labels');
  const isSelected =
    isJsonObject(selector) && (isEmptySelector(selector) || selectorMatches(selector, labels));
  if (isSelected) return [];
  const shown = Object.keys(labels).length === 0 ? null : labels;
  return [invalid(`${TEMPLATE}.metadata.labels`, shown, '`selector` does not match template `labels`')];
}

function selectorErrors(selector: JsonObject): readonly FieldError[] {
  const empty = isEmptySelector(selector)
    ? [invalid('spec.selector', selector, 'empty selector is invalid for deployment')]
    : [];
  return [...validateSelector(selector, 'spec.selector'), ...empty];
}

function validateTemplate(template: JsonObject, path = TEMPLATE): readonly FieldError[] {
  return [
    ...validateLabels(recordAt(template, 'metadata', 'labels'), `${path}.labels`),
    ...validatePodSpec(recordAt(template, 'spec'), `${path}.spec`),
  ];
}

function validateStrategy(strategy: JsonObject, path: string): readonly FieldError[] {
  const rolling = strategy['rollingUpdate'];
  switch (strategy['type']) {
    case 'Recreate':
      return rolling === undefined
        ? []
        : [forbidden(`${path}.rollingUpdate`, "may not be specified when strategy `type` is 'Recreate'")];
    case 'RollingUpdate':
      return isJsonObject(rolling) ? validateRolling(rolling, `${path}.rollingUpdate`) : [];
    default:
      return [notSupported(path, strategy, ['Recreate', 'RollingUpdate'])];
  }
}

function validateRolling(rolling: JsonObject, path: string): readonly FieldError[] {
  const isZero = (value: unknown): boolean => value === 0 || value === '0%';
  const { maxUnavailable, maxSurge } = rolling;
  if (!isZero(maxUnavailable) || !isZero(maxSurge)) return [];
  return [invalid(`${path}.maxUnavailable`, maxUnavailable, 'may not be 0 when `maxSurge` is 0')];
}

function validateProgress(spec: JsonObject): readonly FieldError[] {
  const deadline = spec['progressDeadlineSeconds'];
  if (typeof deadline !== 'number' || deadline > numberAt(spec, ['minReadySeconds'])) return [];
  return [invalid('spec.progressDeadlineSeconds', deadline, 'must be greater than minReadySeconds')];
}

function sameSelector(spec: JsonObject, old: JsonObject | undefined): readonly FieldError[] {
  return old === undefined
    ? []
    : immutable(spec['selector'], recordAt(old, 'spec')['selector'], 'spec.selector');
}
