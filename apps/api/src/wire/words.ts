/**
 * The two vocabularies of the control plane and of bulk export: ours, which resources keep, and that of LangSmith's own
 * clients. Requests, answers, the OpenAPI document and the tests derive from these tables.
 */

/** A member of a body with two names. */
export interface MemberWords {
  /** Name of the object that it is in. */
  readonly part: string;
  readonly ours: string;
  readonly vendors: string;
}

export const MEMBERS: readonly MemberWords[] = [
  { part: 'source_revision_config', ours: 'graph_config_path', vendors: 'langgraph_config_path' },
  { part: 'listener_config', ours: 'cluster_namespace', vendors: 'k8s_namespace' },
  { part: 'compute_config', ours: 'cluster_namespaces', vendors: 'k8s_namespaces' },
  { part: 'resource_spec', ours: 'cache_cpu', vendors: 'redis_cpu' },
  { part: 'resource_spec', ours: 'cache_cpu_limit', vendors: 'redis_cpu_limit' },
  { part: 'resource_spec', ours: 'cache_memory_mb', vendors: 'redis_memory_mb' },
  { part: 'resource_spec', ours: 'cache_memory_limit_mb', vendors: 'redis_memory_limit_mb' },
];

/** A member whose values have two words. */
export interface ValueWords {
  /** Name of the object that it is in; empty for the body itself. */
  readonly part: string;
  readonly member: string;
  /** Our word and the vendor's; several of the vendor's may mean one of ours. */
  readonly words: readonly (readonly [ours: string, vendors: string])[];
  /** True when our words are words of the vendor too: then only what a client sent is answered in the others. */
  readonly isShared?: boolean;
}

const SOURCES = [
  ['git_host', 'github'],
  ['external_image', 'external_docker'],
  ['internal_image', 'internal_docker'],
] as const;

export const VALUES: readonly ValueWords[] = [
  { part: '', member: 'source', words: SOURCES },
  { part: '', member: 'revision_source', words: SOURCES },
  {
    part: 'source_config',
    member: 'deployment_type',
    words: [
      ['dev', 'dev_zero'],
      ['dev_free', 'dev_free_zero'],
      ['dev', 'serverless'],
      ['prod', 'dedicated'],
    ],
    isShared: true,
  },
  { part: '', member: 'compute_type', words: [['cluster', 'k8s']] },
  { part: '', member: 'destination_type', words: [['object_store', 's3']] },
  {
    part: '',
    member: 'status',
    words: [
      ['CREATED', 'Created'],
      ['RUNNING', 'Running'],
      ['COMPLETED', 'Completed'],
      ['FAILED', 'Failed'],
      ['CANCELLED', 'Cancelled'],
      ['TIMEDOUT', 'TimedOut'],
      // a schedule that makes exports
      ['RUNNING', 'IntervalScheduled'],
    ],
  },
  { part: '', member: 'compression', words: [['zstd', 'zstandard']], isShared: true },
];

/** Words of `deployment_type` by which a deployment without a `resource_spec` sleeps when idle. */
export const SLEEPING_TYPES: ReadonlySet<string> = new Set(['dev_zero', 'dev_free_zero', 'serverless']);

/** Members that clients send instead of one that is required here. */
export const INSTEAD: Readonly<Record<string, string>> = {
  agent: 'name',
  agent_id: 'name',
};

/** First parts of paths whose bodies are read leniently. Filters and keys are not among them: there an ignored member would widen what is answered or allowed. */
export const LENIENT_PATHS: readonly string[] = [
  '/v2/',
  '/v1/integrations/',
  '/v1/projects/',
  '/api/v1/bulk-exports',
];
