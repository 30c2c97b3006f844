import { type Config, integer, optionalText, text } from '#lib/config';

export const CONFIG = {
  repository: text('AGENTPLANE_BUILD_REPOSITORY', 'https URL of the git repository'),
  commit: text('AGENTPLANE_BUILD_COMMIT', 'id of the commit that is built'),
  graphConfig: text('AGENTPLANE_BUILD_GRAPH_CONFIG', 'path of the graph configuration in the repository'),
  installCommand: optionalText('AGENTPLANE_BUILD_INSTALL', 'run in the root; else the lock file decides'),
  buildCommand: optionalText('AGENTPLANE_BUILD_COMMAND', 'run in the folder of the graph configuration'),
  imageMegabytes: integer(
    'AGENTPLANE_BUILD_IMAGE_MB',
    'largest result; the checkout may take twice as much',
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
