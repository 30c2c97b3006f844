import type { PodContainer, PodSpec } from '#lib/resources';

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
