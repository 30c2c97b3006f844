import { type Config, integer, optionalText, text } from '#lib/config';

export const CONFIG = {
  repository: text('AGENTPLANE_BUILD_REPOSITORY', 'git repository, an https URL'),
  commit: text('AGENTPLANE_BUILD_COMMIT', 'id of the commit that is built'),
  graphConfig: text('AGENTPLANE_BUILD_GRAPH_CONFIG', 'path of the graph configuration in the repository'),
  installCommand: optionalText('AGENTPLANE_BUILD_INSTALL', 'run in the root; else the lock file decides'),
  buildCommand: optionalText('AGENTPLANE_BUILD_COMMAND', 'run in the folder of the graph configuration'),
  imageMegabytes: integer(
    'AGENTPLANE_BUILD_IMAGE_MB',
    'largest result; the working folder may take three times as much',
    {
      fallback: 2048,
      min: 1,
    },
  ),
  username: text('AGENTPLANE_GIT_USERNAME', 'user of the token', { fallback: 'x-access-token' }),
  token: optionalText('AGENTPLANE_GIT_TOKEN', 'token of the integration; for fetching alone', {
    secret: true,
  }),
  ca: optionalText('AGENTPLANE_GIT_CA', 'PEM of a certificate that the git host is trusted by'),
  terminationMessagePath: text('TERMINATION_MESSAGE_PATH', 'file for the reason of a failure', {
    fallback: '/dev/termination-log',
  }),
};

export type BuilderConfig = Config<typeof CONFIG>;

/**
 * Maximum disk space of the working folder: the result, the data of git, and the caches of package managers.
 */
export function maxFolderBytes({ imageMegabytes }: Pick<BuilderConfig, 'imageMegabytes'>): number {
  return 3 * imageMegabytes * 1_048_576;
}

/**
 * Maximum size of one file; more than the folder may take, so that a file in the folder ends the build by
 * that limit.
 */
export function maxFileBytes(config: Pick<BuilderConfig, 'imageMegabytes'>): number {
  return maxFolderBytes(config) + 1_048_576;
}
