import { choice, flag, optionalText, text } from '#lib/config';

/** Settings of the setup in a cluster. */
export const CONFIG = {
  kubeconfigPath: optionalText(
    'KUBECONFIG',
    'path of a kubeconfig; the mounted service account when missing',
  ),
  databaseUri: optionalText('AGENTPLANE_DATABASE_URI', 'URI of the trace store; not for the step kinds', {
    secret: true,
  }),
  step: choice(
    'AGENTPLANE_SETUP_STEP',
    'kinds: CustomResourceDefinitions; schema: the database of traces, both before the programs start; workspace: the first workspace with a listener and an API key, once they run',
    ['kinds', 'schema', 'workspace'],
  ),
  job: optionalText(
    'AGENTPLANE_SETUP_JOB',
    'name of its Job, for an event with the reason when the step fails',
  ),
  systemNamespace: text('AGENTPLANE_SYSTEM_NAMESPACE', 'namespace of the platform itself', {
    fallback: 'agentplane-system',
  }),
  allowEnvironmentCredentials: flag(
    'AGENTPLANE_FIRST_WORKSPACE_ENVIRONMENT',
    'whether exports of the first workspace, when it is made, may use the credentials of their pods',
    { fallback: false },
  ),
  firstKeySecret: text('AGENTPLANE_FIRST_KEY_SECRET', 'name of the Secret for the first API key', {
    fallback: 'agentplane-first-key',
  }),
};
