import { type Config, integer, optionalText, text } from '#lib/config';

export const CONFIG = {
  repository: optionalText(
    'AGENTPLANE_BUILD_REPOSITORY',
    'git repository, an https URL; absent with an archive',
  ),
  commit: optionalText('AGENTPLANE_BUILD_COMMIT', 'id of the commit that is built; absent with an archive'),
  archive: optionalText(
    'AGENTPLANE_BUILD_ARCHIVE',
    'URL of the tar.gz that is built instead of a repository',
  ),
  graphConfig: text('AGENTPLANE_BUILD_GRAPH_CONFIG', 'path of the graph configuration in the source'),
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
  token: optionalText(
    'AGENTPLANE_GIT_TOKEN',
    'token of the integration, or key for the archive; for fetching alone',
    {
      secret: true,
    },
  ),
  ca: optionalText('AGENTPLANE_GIT_CA', 'PEM of a certificate that the git host is trusted by'),
  terminationMessagePath: text('TERMINATION_MESSAGE_PATH', 'file for the reason of a failure', {
    fallback: '/dev/termination-log',
  }),
};

/** Maximum number of entries of a result; empty files take no bytes, and fill a disk as well. */
export const MAX_ENTRIES = 200_000;

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
