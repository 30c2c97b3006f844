/**
 * Types of Secrets that the platform makes. A type cannot be changed once a Secret exists, on any cluster, so
 * that it is a mark that cannot be removed: the embedded API server gives such a Secret to no pod, and no
 * deployment can name it, neither as its `secretsRef` nor in volumes and variables of its resource spec. Pods
 * created directly in another API server can.
 */
export const SECRET_TYPE = {
  /** The keys of a BulkExportDestination; export workers get copies of their own, in the system namespace. */
  destinationCredentials: 'agentplane.dev/destination-credentials',
  /** Signs the calls of webhooks of BulkExports. No other Secret does: a type is its maker's consent. */
  webhookSecret: 'agentplane.dev/webhook-secret',
  /** The git integrations of a workspace; a build gets the token of one, in a Secret of its own. */
  gitIntegrations: 'agentplane.dev/git-integrations',
} as const;

/**
 * Login with which a build fetches from git, for as long as its Job exists. The pod of that Job has it, on
 * the embedded API server no other, and no deployment can name it.
 */
export const BUILD_LOGIN_TYPE = 'agentplane.dev/build-login';

/** The key of a Listener, which its pod has, on the embedded API server no other; no deployment can name it. */
export const LISTENER_KEY_TYPE = 'agentplane.dev/listener-key';

/** Keys of a Secret that signs webhooks. */
export const WEBHOOK_SECRET_KEY = {
  /** Several values, separated by commas, sign each call. */
  secret: 'secret',
  /** Optional: the one URL whose calls it signs. */
  url: 'url',
} as const;
