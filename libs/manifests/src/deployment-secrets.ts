import {
  type AgentDeployment,
  ANNOTATION,
  databaseSecretName,
  LABEL,
  platformSecretName,
  type PodContainer,
  type PodSpec,
  revisionEnvSecretName,
  type Secret,
} from '#lib/resources';
import { platformLabels, userMetadata } from './object-labels.js';

/** Key of the certificates in Secrets of the platform, and name of their file. */
export const CA_KEY = 'ca.crt';

/** Variable of an agent server with the certificates themselves. */
export const CA_VARIABLE = 'AGENTPLANE_TRUSTED_CA';

const VOLUME = 'trusted-ca';
const FOLDER = '/etc/agentplane/trusted-ca';

/** Parts of a platform program's pod for trusting the certificates in a Secret of its namespace. */
export interface TrustedCaParts {
  readonly env: NonNullable<PodContainer['env']>;
  readonly volumeMounts: NonNullable<PodContainer['volumeMounts']>;
  readonly volumes: NonNullable<PodSpec['volumes']>;
}

export function trustedCaParts(secretName: string): TrustedCaParts {
  return {
    env: [{ name: 'NODE_EXTRA_CA_CERTS', value: `${FOLDER}/${CA_KEY}` }],
    volumeMounts: [{ name: VOLUME, mountPath: FOLDER, readOnly: true }],
    volumes: [
      // a Secret from before the certificates were set must not hold its pod up
      { name: VOLUME, secret: { secretName, items: [{ key: CA_KEY, path: CA_KEY }], optional: true } },
    ],
  };
}

/** Key of the platform key in its Secret, and the variable's name. */
export const PLATFORM_KEY = 'LANGSMITH_API_KEY';

/** Key of the database's URI in its Secret, and the variable's name. */
export const DATABASE_KEY = 'POSTGRES_URI';

/** The deployment's own key for traces and verification; minted once, so never written again. */
export function buildPlatformSecret(deployment: AgentDeployment, key: string): Secret {
  return secretOf(deployment, platformSecretName(deployment.metadata.name), {
    [PLATFORM_KEY]: encoded(key),
  });
}

/** Content of a database's Secret beside its URI. */
export interface DatabaseNotes {
  /** Mark on the deployment's pods since the URI was last replaced. */
  readonly mark: string | undefined;
  /** The connections that the server has, where they are fewer than were asked for. */
  readonly connections: number | undefined;
  /** Time of the last change of its password, RFC 3339; undefined while it was never changed. */
  readonly passwordAt?: string | undefined;
  /** Certificates (PEM) that pods trust besides public ones; none by default. */
  readonly trustedCa?: string | undefined;
}

/** Secret by which the deployment reaches its database. */
export function buildDatabaseSecret(deployment: AgentDeployment, uri: string, notes: DatabaseNotes): Secret {
  const { mark, connections, passwordAt, trustedCa } = notes;
  const secret = secretOf(deployment, databaseSecretName(deployment.metadata.name), {
    [DATABASE_KEY]: encoded(uri),
    ...(trustedCa === undefined ? {} : { [CA_KEY]: encoded(trustedCa) }),
  });
  const annotations = {
    ...secret.metadata.annotations,
    ...(passwordAt === undefined ? {} : { [ANNOTATION.passwordAt]: passwordAt }),
    ...(mark === undefined ? {} : { [ANNOTATION.database]: mark }),
    ...(connections === undefined ? {} : { [ANNOTATION.databaseConnections]: String(connections) }),
  };
  if (Object.keys(annotations).length === 0) return secret;
  return { ...secret, metadata: { ...secret.metadata, annotations } };
}

/**
 * The user's variables of one revision. Immutable, because a redeploy must find what the revision ran with.
 * @param data base64, as in the Secret it comes from
 */
export function buildRevisionEnvSecret(
  deployment: AgentDeployment,
  revision: string,
  data: Readonly<Record<string, string>>,
): Secret {
  const secret = secretOf(deployment, revisionEnvSecretName(revision), data);
  const labels = { ...secret.metadata.labels, [LABEL.revision]: revision };
  return { ...secret, immutable: true, metadata: { ...secret.metadata, labels } };
}

function secretOf(
  { metadata, spec }: AgentDeployment,
  name: string,
  data: Readonly<Record<string, string>>,
): Secret {
  const { labels, ...annotations } = userMetadata(spec.sourceConfig.resourceSpec);
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: {
      name,
      namespace: metadata.namespace,
      labels: {
        ...labels,
        ...platformLabels('agent', { [LABEL.deployment]: metadata.name }),
      },
      ...annotations,
    },
    type: 'Opaque',
    data,
  };
}

function encoded(text: string): string {
  return Buffer.from(text, 'utf8').toString('base64');
}
