import { describe, expect, it } from '@jest/globals';
import type { Deployment, Listener } from '#lib/resources';
import { buildListenerObjects, buildListenerRights } from './listener-objects.js';
import { hubRules } from './listener-rights.js';
import { buildRemoteListener, placeNamespaces } from './remote-listener.js';

const REMOTE: Listener = {
  apiVersion: 'agentplane.dev/v1alpha1',
  kind: 'Listener',
  metadata: { name: 'far', namespace: 'ws-x' },
  spec: {
    computeType: 'cluster',
    computeId: 'far',
    namespaces: ['agents', 'more'],
    remote: { apiUrl: 'https://agents.example.org' },
  },
};

function revision(name: string) {
  const [deployment = ''] = name.split('-');
  return {
    metadata: { name },
    spec: {
      envSecretName: `${name}-env`,
      databaseSecretName: `${deployment}-database`,
      platformSecretName: `${deployment}-platform`,
    },
  };
}

/** `VERB RESOURCE NAME`, with `*` for every name. */
function grants(rules: ReturnType<typeof hubRules>): readonly string[] {
  return rules.flatMap(({ verbs, resources = [], resourceNames = ['*'] }) =>
    resources.flatMap((resource) =>
      resourceNames.flatMap((name) => verbs.map((verb) => `${verb} ${resource} ${name}`)),
    ),
  );
}

describe('rights of a remote listener in the hub', () => {
  const all = grants(hubRules('far', [revision('a-00002'), revision('a-00001')], ['a-00001-output']));

  it('reads the Secrets of its revisions, each once', () => {
    expect(all.filter((grant) => grant.includes(' secrets '))).toEqual([
      'get secrets a-00001-env',
      'get secrets a-00002-env',
      'get secrets a-database',
      'get secrets a-platform',
    ]);
  });

  it('writes nothing without its name, and creates nothing', () => {
    const writes = all.filter((grant) => !/^(get|list|watch) /.test(grant) && grant.endsWith(' *'));
    expect(writes).toEqual([]);
    expect(all.filter((grant) => grant.startsWith('create ') || grant.includes('events'))).toEqual([]);
    expect(all.filter((grant) => grant.includes(' configmaps '))).toEqual([
      'get configmaps a-00001-output',
      'patch configmaps a-00001-output',
    ]);
  });

  it('writes no deployment, and makes no workload', () => {
    const written = all.filter((grant) =>
      /^(create|patch|update|delete) (agentdeployments|deployments|pods)/.test(grant),
    );
    expect(written).toEqual([]);
  });

  it('has no rule for all names while it has no revision', () => {
    const none = grants(hubRules('far', [], []));
    expect(none.filter((grant) => /secrets|(patch|update) (agentrevisions|configmaps)/.test(grant))).toEqual(
      [],
    );
  });

  it('leaves a listener of the same cluster without Secrets', () => {
    const { remote: _, ...spec } = REMOTE.spec;
    const { rules } = buildListenerRights({ ...REMOTE, spec }).role;
    expect(grants(rules ?? []).filter((grant) => grant.includes(' secrets '))).toEqual([]);
  });
});

describe('manifest of a remote listener', () => {
  const objects = buildRemoteListener(REMOTE, {
    hub: { server: 'https://hub.example.org:6443', ca: 'PEM', token: 'the-token' },
    idleKey: 'the-key',
    image: 'registry.example.org/listener:1',
    imagePullSecrets: ['registry'],
    addresses: 'cluster-dns',
    agentsNonRoot: true,
    tracing: { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318' },
  });

  it('has rights in each of its namespaces, and its program in the first', () => {
    const named = objects.map(({ kind, metadata }) => `${kind} ${metadata.namespace ?? ''}/${metadata.name}`);
    expect(named).toEqual([
      'Namespace /agents',
      'Namespace /more',
      'ServiceAccount agents/listener-far',
      'Role agents/listener-far',
      'RoleBinding agents/listener-far',
      'Role more/listener-far',
      'RoleBinding more/listener-far',
      'Secret agents/listener-far-hub',
      'Deployment agents/listener-far',
    ]);
  });

  it('keeps token and key in its Secret alone', () => {
    const secretText = (text: string) => Buffer.from(text, 'utf8').toString('base64');
    const others = JSON.stringify(objects.filter(({ kind }) => kind !== 'Secret'));
    for (const secret of ['the-token', 'the-key'])
      for (const text of [secret, secretText(secret)]) expect(others).not.toContain(text);
    const kept = JSON.stringify(objects.find(({ kind }) => kind === 'Secret'));
    expect(kept).toContain(secretText('the-token'));
    expect(kept).toContain(secretText('the-key'));
  });

  it('hands on what pods of agents there are to be', () => {
    const program = objects.find(({ kind }) => kind === 'Deployment') as Deployment | undefined;
    expect(program?.spec.template.spec.containers[0]?.env).toEqual(
      expect.arrayContaining([
        { name: 'AGENTPLANE_AGENTS_NON_ROOT', value: 'true' },
        { name: 'OTEL_EXPORTER_OTLP_ENDPOINT', value: 'http://collector:4318' },
      ]),
    );
  });

  it('serves metrics as a listener of the hub does', () => {
    const { remote: _, ...spec } = REMOTE.spec;
    const settings = { version: '1', apiUrl: 'https://a.example', addresses: 'cluster-dns' } as const;
    const local = buildListenerObjects({ ...REMOTE, spec }, settings).deployment;
    const program = objects.find(({ kind }) => kind === 'Deployment') as Deployment | undefined;
    const names = (one: Deployment | undefined): readonly string[] =>
      (one?.spec.template.spec.containers[0]?.env ?? []).map(({ name }) => name);
    expect(names(program)).toEqual(expect.arrayContaining(['AGENTPLANE_METRICS_PORT', ...names(local)]));
  });

  it('runs as the restricted Pod Security Standard asks for', () => {
    const program = objects.find(({ kind }) => kind === 'Deployment') as Deployment | undefined;
    expect(program?.spec.template.spec.securityContext).toEqual({
      runAsNonRoot: true,
      seccompProfile: { type: 'RuntimeDefault' },
    });
  });

  it('works in the namespace of the workspace when it names none', () => {
    const { namespaces: _, ...spec } = REMOTE.spec;
    expect(placeNamespaces({ ...REMOTE, spec })).toEqual(['ws-x']);
  });
});
