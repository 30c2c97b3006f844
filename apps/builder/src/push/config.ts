import { type Config, flag, optionalText, text } from '#lib/config';

/** Settings of the container that pushes, beside those of all containers of a build. */
export const PUSH_CONFIG = {
  source: text('AGENTPLANE_PUSH_SOURCE', 'folder that the build left'),
  repository: text('AGENTPLANE_PUSH_REPOSITORY', 'repository of the image in its registry, without a tag'),
  base: text('AGENTPLANE_PUSH_BASE', 'image that the layer of the agent is put upon'),
  pythonBase: text('AGENTPLANE_PUSH_PYTHON_BASE', 'the same for graphs in Python'),
  authFile: optionalText(
    'AGENTPLANE_PUSH_AUTH_FILE',
    'file with the logins of registries, as docker keeps them',
  ),
  isInsecure: flag(
    'AGENTPLANE_PUSH_INSECURE',
    'whether the registry of the image may have no TLS, or a certificate of anybody',
    { fallback: false },
  ),
  ca: optionalText('AGENTPLANE_PUSH_CA', 'PEM of a certificate that this registry is trusted by'),
};

export type PushConfig = Config<typeof PUSH_CONFIG>;
