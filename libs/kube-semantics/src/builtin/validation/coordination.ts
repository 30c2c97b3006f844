import { recordAt, textAt } from '../../object/reading.js';
import { type FieldError, invalid, required } from '../../schema/field-error.js';
import { qualifiedName } from '../../schema/names.js';
import { immutable, named, oneOf, problems } from './checks.js';
import type { Validator } from './validator.js';

export const validateLease: Validator = (lease) => {
  const { leaseDurationSeconds: duration, leaseTransitions: transitions } = recordAt(lease, 'spec');
  const errors: FieldError[] = [];
  if (typeof duration === 'number' && duration <= 0) {
    errors.push(invalid('spec.leaseDurationSeconds', duration, 'must be greater than 0'));
  }
  if (typeof transitions === 'number' && transitions < 0) {
    errors.push(invalid('spec.leaseTransitions', transitions, 'must be greater than or equal to 0'));
  }
  return errors;
};

const EVENT_TYPES = ['Normal', 'Warning'];
const EVENT_FIELDS = ['reportingController', 'reportingInstance', 'action', 'reason'];

/**
 * An event must be in the namespace of its subject; one of events.k8s.io names its reporter, its reason, and
 * its time.
 */
export const validateEvent: Validator = (event, old) => {
  const namespace = textAt(event, ['metadata', 'namespace']);
  const isNew = textAt(event, ['apiVersion']).startsWith('events.k8s.io/');
  const about = textAt(event, [isNew ? 'regarding' : 'involvedObject', 'namespace']);
  const hasTime = Boolean(event['eventTime']);
  const isClusterWide = about === '' && (namespace === 'default' || namespace === 'kube-system');
  const errors: FieldError[] =
    isClusterWide || about === namespace || (hasTime && about !== '')
      ? []
      : [invalid('involvedObject.namespace', about, 'does not match event.namespace')];
  if (!isNew || old !== undefined) return errors;
  const needed = hasTime ? EVENT_FIELDS : ['eventTime'];
  errors.push(...needed.filter((field) => !event[field]).map((field) => required(field)));
  const reporter = textAt(event, ['reportingController']);
  if (hasTime) errors.push(...problems(reporter, 'reportingController', qualifiedName(reporter)));
  const type = textAt(event, ['type']);
  return EVENT_TYPES.includes(type) ? errors : [...errors, invalid('type', '', `has invalid value: ${type}`)];
};

export const validateEndpointSlice: Validator = (slice, old) => [
  ...(textAt(slice, ['addressType']) === ''
    ? [required('addressType')]
    : oneOf(slice['addressType'], 'addressType', ['FQDN', 'IPv4', 'IPv6'])),
  ...(old === undefined ? [] : immutable(slice['addressType'], old['addressType'], 'addressType')),
];

export const validateHorizontalPodAutoscaler: Validator = (autoscaler) => {
  const spec = recordAt(autoscaler, 'spec');
  const { minReplicas: least, maxReplicas: most } = spec;
  const errors: FieldError[] = [];
  if (typeof least === 'number' && least < 1) {
    errors.push(invalid('spec.minReplicas', least, 'must be greater than or equal to 1'));
  }
  if (typeof most !== 'number' || most < 1) {
    errors.push(invalid('spec.maxReplicas', most ?? 0, 'must be greater than 0'));
  } else if (typeof least === 'number' && most < least) {
    errors.push(invalid('spec.maxReplicas', most, 'must be greater than or equal to `minReplicas`'));
  }
  const target = recordAt(spec, 'scaleTargetRef');
  const version = textAt(target, ['apiVersion']);
  if (!version.includes('/') && target['kind'] !== 'ReplicationController') {
    errors.push(invalid('spec.scaleTargetRef.apiVersion', version, 'apiVersion must specify API group'));
  }
  return [
    ...errors,
    ...named(target['kind'], 'spec.scaleTargetRef.kind'),
    ...named(target['name'], 'spec.scaleTargetRef.name'),
  ];
};
