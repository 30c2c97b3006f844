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

const DNS_LABEL = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;
const ENV_NAME = /^[-._a-zA-Z][-._a-zA-Z0-9]*$/;
const MAX_MEMORY_MB = 1_048_576;
const MAX_SCALE = 1000;

export class LocalObjectReferenceRequest {
  @Text({ required: true, minLength: 1, maxLength: 253 })
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
  @Text({ required: true, minLength: 1, maxLength: 63 })
  name: string;

  @Text({ required: true, minLength: 1, maxLength: 4096 })
  mountPath: string;

  @Text({ maxLength: 4096 })
  subPath?: string | null;

  @Text({ maxLength: 64 })
  mountPropagation?: string | null;

  @Flag()
  readOnly?: boolean | null;

  @Text({ maxLength: 4096 })
  subPathExpr?: string | null;
}

export class EnvVarRequest {
  @Text({
    required: true,
    maxLength: 253,
    pattern: ENV_NAME,
    patternText: 'String should be the name of a variable',
  })
  name: string;

  @Text({ maxLength: 262_144 })
  value?: string | null;

  @FreeObject()
  valueFrom?: object | null;
}

export class ResourceRequirementsRequest {
  @TextMap()
  limits?: Record<string, string> | null;

  @TextMap()
  requests?: Record<string, string> | null;
}

export class ContainerRequest {
  @Text({ required: true, maxLength: 63, pattern: DNS_LABEL, patternText: 'String should be a DNS label' })
  name: string;

  @Text({ required: true, minLength: 1, maxLength: 2048 })
  image: string;

  @Choice(['Always', 'Never', 'IfNotPresent'])
  imagePullPolicy?: string | null;

  @TextList({ maxSize: 256 })
  command?: string[] | null;

  @TextList({ maxSize: 256 })
  args?: string[] | null;

  @Text({ maxLength: 4096 })
  workingDir?: string | null;

  @NestedList(() => EnvVarRequest, { maxSize: 256 })
  env?: EnvVarRequest[] | null;

  @FreeObjectList({ maxSize: 64 })
  envFrom?: object[] | null;

  @Nested(() => ResourceRequirementsRequest)
  resources?: ResourceRequirementsRequest | null;

  @NestedList(() => VolumeMountRequest, { maxSize: 64 })
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
const unused = () => Decimal({ min: 0, about: 'Do not use' });
const unusedWhole = () => Whole({ min: 0, about: 'Do not use' });

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
  @unusedWhole() orchestrator_memory_mb?: number | null;
  @unusedWhole() orchestrator_memory_limit_mb?: number | null;
  @unusedWhole() orchestrator_min_scale?: number | null;
  @unusedWhole() orchestrator_max_scale?: number | null;
  @unused() executor_cpu?: number | null;
  @unused() executor_cpu_limit?: number | null;
  @unusedWhole() executor_memory_mb?: number | null;
  @unusedWhole() executor_memory_limit_mb?: number | null;
  @memory('Memory of the cache deployment in MB') cache_memory_mb?: number | null;
  @TextMap() labels?: Record<string, string> | null;
  @TextMap() annotations?: Record<string, string> | null;
  @Text({ maxLength: 253 }) service_account_name?: string | null;
  @NestedList(() => LocalObjectReferenceRequest, { maxSize: 16 })
  image_pull_secrets?: LocalObjectReferenceRequest[] | null;
  @NestedList(() => VolumeRequest, { maxSize: 64 }) volumes?: VolumeRequest[] | null;
  @NestedList(() => VolumeMountRequest, { maxSize: 64 }) volume_mounts?: VolumeMountRequest[] | null;
  @NestedList(() => ContainerRequest, { maxSize: 16 }) init_containers?: ContainerRequest[] | null;
  @NestedList(() => ContainerRequest, { maxSize: 16 }) sidecars?: ContainerRequest[] | null;
  @Decimal({ min: 0.1 }) db_cpu?: number | null;
  @Decimal({ min: 0.1 }) db_cpu_limit?: number | null;
  @memory() db_memory_mb?: number | null;
  @memory() db_memory_limit_mb?: number | null;
  @Whole({ min: 1 }) db_storage_gi?: number | null;
  @Whole({ min: 1 }) db_max_connections?: number | null;
}
