import {
  Choice,
  Decimal,
  Flag,
  FreeObject,
  FreeObjectList,
  Nested,
  NestedList,
  Text,
  TextList,
  TextMap,
  Whole,
} from '../wire/fields.js';

export const DNS_LABEL = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;
export const SUBDOMAIN = {
  maxLength: 253,
  pattern: /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/,
  patternText: 'String should be the name of an object: lower case letters, digits, - and .',
};
const ENV_NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;
const MAX_MEMORY_MB = 1_048_576;
const MAX_SCALE = 1000;
const MAX_PATH = 1024;
const MAX_VALUE = 32_768;

export class LocalObjectReferenceRequest {
  @Text({ ...SUBDOMAIN, minLength: 1, required: true })
  name: string;
}

export class VolumeRequest {
  @Text({ required: true, maxLength: 63, pattern: DNS_LABEL, patternText: 'String should be a DNS label' })
  name: string;

  @FreeObject()
  configMap?: object | null;

  @FreeObject()
  secret?: object | null;

  @FreeObject()
  emptyDir?: object | null;

  @FreeObject()
  persistentVolumeClaim?: object | null;

  @FreeObject()
  nfs?: object | null;

  @FreeObject()
  projected?: object | null;

  @FreeObject()
  downwardAPI?: object | null;

  @FreeObject()
  csi?: object | null;
}

export class VolumeMountRequest {
  @Text({ required: true, maxLength: 63 })
  name: string;

  @Text({ required: true, minLength: 1, maxLength: MAX_PATH })
  mountPath: string;

  @Text({ maxLength: MAX_PATH })
  subPath?: string | null;

  @Choice(['None', 'HostToContainer', 'Bidirectional'])
  mountPropagation?: string | null;

  @Flag()
  readOnly?: boolean | null;

  @Text({ maxLength: MAX_PATH })
  subPathExpr?: string | null;
}

export class EnvVarRequest {
  @Text({
    required: true,
    maxLength: 256,
    pattern: ENV_NAME,
    patternText: 'String should be the name of a variable',
  })
  name: string;

  @Text({ maxLength: MAX_VALUE })
  value?: string | null;

  @FreeObject()
  valueFrom?: object | null;
}

const QUANTITIES = { maxEntries: 16, maxLength: 64 };

export class ResourceRequirementsRequest {
  @TextMap(QUANTITIES)
  limits?: Record<string, string> | null;

  @TextMap(QUANTITIES)
  requests?: Record<string, string> | null;
}

export class ContainerRequest {
  @Text({ required: true, maxLength: 63, pattern: DNS_LABEL, patternText: 'String should be a DNS label' })
  name: string;

  @Text({ required: true, minLength: 1, maxLength: 1024 })
  image: string;

  @Choice(['Always', 'Never', 'IfNotPresent'])
  imagePullPolicy?: string | null;

  @TextList({ maxSize: 128, maxLength: MAX_VALUE })
  command?: string[] | null;

  @TextList({ maxSize: 128, maxLength: MAX_VALUE })
  args?: string[] | null;

  @Text({ maxLength: MAX_PATH })
  workingDir?: string | null;

  @NestedList(() => EnvVarRequest, { maxSize: 128 })
  env?: EnvVarRequest[] | null;

  @FreeObjectList({ maxSize: 32 })
  envFrom?: object[] | null;

  @Nested(() => ResourceRequirementsRequest)
  resources?: ResourceRequirementsRequest | null;

  @NestedList(() => VolumeMountRequest, { maxSize: 32 })
  volumeMounts?: VolumeMountRequest[] | null;

  @FreeObject()
  securityContext?: object | null;

  @Choice(['Always', 'OnFailure'])
  restartPolicy?: string | null;
}

const scale = () => Whole({ min: 0, max: MAX_SCALE });
const memory = (about?: string) => Whole({ min: 1, max: MAX_MEMORY_MB, ...(about ? { about } : {}) });
const request = () => Decimal({ min: 0.1, max: 8, about: 'Cores; rounded to one decimal place' });
const limit = () => Decimal({ min: 0.1, max: 16, about: 'Cores; twice the request when absent' });
const SERVER = 'Of a Postgres server of its own, on a cluster; elsewhere no effect: databases share a server';
const unused = () => Decimal({ min: 0, about: 'Do not use; it has no effect' });
const unusedMemory = () => Whole({ min: 0, max: MAX_MEMORY_MB, about: 'Do not use; it has no effect' });
const unusedScale = () => Whole({ min: 0, max: MAX_SCALE, about: 'Do not use; it has no effect' });

/** `source_config.resource_spec`. */
export class ResourceSpecRequest {
  @scale() min_scale?: number | null;
  @scale() max_scale?: number | null;
  @request() cpu?: number | null;
  @limit() cpu_limit?: number | null;
  @memory() memory_mb?: number | null;
  @memory() memory_limit_mb?: number | null;
  @scale() queue_min_scale?: number | null;
  @scale() queue_max_scale?: number | null;
  @request() queue_cpu?: number | null;
  @limit() queue_cpu_limit?: number | null;
  @memory() queue_memory_mb?: number | null;
  @memory() queue_memory_limit_mb?: number | null;
  @unused() orchestrator_cpu?: number | null;
  @unused() orchestrator_cpu_limit?: number | null;
  @unusedMemory() orchestrator_memory_mb?: number | null;
  @unusedMemory() orchestrator_memory_limit_mb?: number | null;
  @unusedScale() orchestrator_min_scale?: number | null;
  @unusedScale() orchestrator_max_scale?: number | null;
  @unused() executor_cpu?: number | null;
  @unused() executor_cpu_limit?: number | null;
  @unusedMemory() executor_memory_mb?: number | null;
  @unusedMemory() executor_memory_limit_mb?: number | null;
  @unused() cache_cpu?: number | null;
  @unused() cache_cpu_limit?: number | null;
  @memory('No effect: a deployment has no cache of its own') cache_memory_mb?: number | null;
  @memory('No effect') cache_memory_limit_mb?: number | null;
  @TextMap({ maxEntries: 64, maxLength: 63 }) labels?: Record<string, string> | null;
  @TextMap({ maxEntries: 64, maxLength: 16_384 }) annotations?: Record<string, string> | null;
  @Text(SUBDOMAIN) service_account_name?: string | null;
  @NestedList(() => LocalObjectReferenceRequest, { maxSize: 16 })
  image_pull_secrets?: LocalObjectReferenceRequest[] | null;
  @TextMap({ maxEntries: 64, maxLength: 63 }) node_selector?: Record<string, string> | null;
  @FreeObjectList({ maxSize: 64 }) tolerations?: object[] | null;
  @FreeObject() affinity?: object | null;
  @FreeObjectList({ maxSize: 16 }) topology_spread_constraints?: object[] | null;
  @Text(SUBDOMAIN) priority_class_name?: string | null;
  @Text(SUBDOMAIN) runtime_class_name?: string | null;
  @NestedList(() => VolumeRequest, { maxSize: 32 }) volumes?: VolumeRequest[] | null;
  @NestedList(() => VolumeMountRequest, { maxSize: 32 }) volume_mounts?: VolumeMountRequest[] | null;
  @NestedList(() => ContainerRequest, { maxSize: 16 }) init_containers?: ContainerRequest[] | null;
  @NestedList(() => ContainerRequest, { maxSize: 16 }) sidecars?: ContainerRequest[] | null;
  @Decimal({ min: 0.1, about: SERVER }) db_cpu?: number | null;
  @Decimal({ min: 0.1, about: SERVER }) db_cpu_limit?: number | null;
  @memory(SERVER) db_memory_mb?: number | null;
  @memory(SERVER) db_memory_limit_mb?: number | null;
  @Whole({ min: 1, max: 65_536, about: SERVER }) db_storage_gi?: number | null;
  @Whole({ min: 1, max: 10_000 }) db_max_connections?: number | null;
}
