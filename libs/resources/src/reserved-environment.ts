/** Variables that the platform sets, or that would change how an agent reports to it. Users cannot set them. */
const RESERVED_ENVIRONMENT: ReadonlySet<string> = new Set([
  // set by the platform
  'PORT',
  'HOST',
  'POSTGRES_URI',
  'LANGSMITH_TRACING',
  'LANGSMITH_ENDPOINT',
  'LANGSMITH_API_KEY',
  'LANGSMITH_PROJECT',
  'AGENTPLANE_AUTH_URL',
  'AGENTPLANE_TENANT_ID',
  'AGENTPLANE_DEPLOYMENT',
  'AGENTPLANE_REVISION',
  'TERMINATION_MESSAGE_PATH',
  'KUBECONFIG',
  // owned by control planes of this interface
  'DATABASE_URI',
  'DD_TRACE_PSYCOPG_ENABLED',
  'DD_TRACE_REDIS_ENABLED',
  'LANGCHAIN_API_KEY',
  'LANGCHAIN_CALLBACKS_BACKGROUND',
  'LANGCHAIN_ENDPOINT',
  'LANGCHAIN_PROJECT',
  'LANGCHAIN_TRACING_V2',
  'LANGGRAPH_AUTH_TYPE',
  'LANGGRAPH_CLOUD_LICENSE_KEY',
  'LANGGRAPH_GIT_REPO_PATH',
  'LANGSMITH_AUTH_ENDPOINT',
  'LANGSMITH_AUTH_VERIFY_TENANT_ID',
  'LANGSMITH_CONTROL_PLANE_API_KEY',
  'LANGSMITH_DEPLOYMENT_NAME',
  'LANGSMITH_HOST_PROJECT_ID',
  'LANGSMITH_HOST_PROJECT_NAME',
  'LANGSMITH_HOST_REVISION_ID',
  'LANGSMITH_LANGGRAPH_GIT_REF',
  'LANGSMITH_LANGGRAPH_GIT_REF_SHA',
  'LANGSMITH_LANGGRAPH_GIT_REPO',
  'LANGSMITH_TENANT_ID',
  'LANGSMITH_TRACING_V2',
  'LOG_DICT_TRACEBACKS',
  'LOG_JSON',
  'POSTGRES_PASSWORD',
]);

/** Only users know where clients reach an agent from outside of its cluster. */
const OWN_TO_SET: ReadonlySet<string> = new Set(['AGENTPLANE_PUBLIC_URL', 'AGENTPLANE_TRUST_FORWARDED']);

/**
 * True when users are refused this variable: the reserved ones, and all that begin with `AGENTPLANE_` but for
 * two settings.
 */
export function isReservedEnvironment(name: string): boolean {
  if (OWN_TO_SET.has(name)) return false;
  return RESERVED_ENVIRONMENT.has(name) || name.startsWith('AGENTPLANE_');
}
