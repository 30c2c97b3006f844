import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse, parseAllDocuments } from 'yaml';
import { loadConfig, PLATFORM_VERSION } from '#lib/config';
import { buildProgramBindings, buildGitJob, buildListenerObjects, buildRemoteListener } from '#lib/manifests';
import type { AgentRevision, Listener } from '#lib/resources';
import { hasRealKubernetes, temporaryFolder, testApiServer, waitFor } from '#lib/testing';
import { CONFIG as API } from '../../apps/api/src/config.js';
import { CONFIG as CONTROLLER, platformSettings } from '../../apps/controller/src/config.js';
import { CONFIG as LISTENER_CONFIG } from '../../apps/listener/src/config.js';
import { CHART, findHelm, Helm, type Rendered } from '../support/helm.js';
import { type Answer, findBuiltKubectl, Kubectl, leaveOut } from '../support/kubectl.js';
import { repository } from '../support/platform.js';
import { DATABASE, VALUES } from './chart-values.js';

const binary = findHelm();
const kubectlBinary = findBuiltKubectl();

const LISTENER: Listener = {
  apiVersion: 'agentplane.dev/v1alpha1',
  kind: 'Listener',
  metadata: { name: 'l', namespace: 'n' },
  spec: { computeType: 'cluster', computeId: 'c' },
};

const BUILD = {
  revision: {
    apiVersion: 'agentplane.dev/v1alpha1',
    kind: 'AgentRevision',
    metadata: { name: 'a-00001', namespace: 'ws-x', uid: '0a1b2c3d-0000-4000-8000-00000000000e' },
    spec: {
      source: 'git_host',
      deploymentName: 'a',
      listenerName: 'default',
      git: { repoUrl: 'https://git.example.org/a.git', graphConfigPath: 'langgraph.json' },
    },
  } as AgentRevision,
};

/** What stands here for the values of Secrets is no certificate. */
const isReadable = ({ name }: { readonly name: string }): boolean => name !== 'AGENTPLANE_TRUSTED_CA';

if (!binary) leaveOut('helm');

(binary ? describe : describe.skip)('the chart', () => {
  const helm = new Helm(binary ?? '', temporaryFolder());
  const named = (objects: readonly Rendered[], kind: string): string[] =>
    objects.filter((object) => object.kind === kind).map(({ metadata }) => metadata.name);

  it.each(Object.entries(VALUES))('satisfies the checks of Helm with %s', (_what, values) => {
    const { code, text } = helm.try(['lint', '--strict'], values);
    expect([code, text]).toEqual([0, expect.stringContaining('0 chart(s) failed')]);
  });

  it('refuses a value that has no effect, and one of another kind', () => {
    const misspelt = helm.try(['template', 'x'], { ...DATABASE, api: { replica: 3 } });
    expect([misspelt.code, misspelt.text]).toEqual([1, expect.stringMatching(/replica.*not allowed/s)]);
    const text = helm.try(['template', 'x'], { ...DATABASE, api: { replicas: 'many' } });
    expect([text.code, text.text]).toEqual([1, expect.stringMatching(/api.replicas|\/api\/replicas/)]);
  });

  it('gives deployments Postgres servers of their own by default, of its image, and none without one', () => {
    const of = (values: object): unknown[] =>
      [API, CONTROLLER].map((config, at) => {
        const program = helm
          .render({ ...DATABASE, ...values })
          .find(
            ({ kind, metadata }) =>
              kind === 'Deployment' && metadata.name.endsWith(['-api', '-controller'][at] ?? ''),
          );
        const env = program?.spec?.template?.spec.containers[0]?.env ?? [];
        const read: Partial<Record<string, unknown>> = loadConfig(
          config,
          Object.fromEntries(env.map(({ name, value = 'x' }) => [name, value])),
        );
        return [read['agentDatabaseImage'], read['agentDatabaseUser'], read['agentDatabaseStorageClass']];
      });
    const image = 'docker.io/library/postgres:18-alpine';
    expect(of({})).toEqual([
      [image, undefined, undefined],
      [image, 70, undefined],
    ]);
    expect(of({ agents: { databases: { image: 'mine:17', userId: 999, storageClass: 'fast' } } })).toEqual([
      ['mine:17', undefined, undefined],
      ['mine:17', 999, 'fast'],
    ]);
    expect(of({ agents: { databases: { image: '' } } })).toEqual([
      [undefined, undefined, undefined],
      [undefined, 70, undefined],
    ]);
  });

  it('has namespaces of workspaces enforce a level of Pod Security, and bounds volumes of agents', () => {
    const of = (agents: object): unknown => {
      const program = helm
        .render({ ...DATABASE, agents })
        .find(({ kind, metadata }) => kind === 'Deployment' && metadata.name.endsWith('-controller'));
      const env = program?.spec?.template?.spec.containers[0]?.env ?? [];
      const read = loadConfig(
        CONTROLLER,
        Object.fromEntries(env.map(({ name, value = 'x' }) => [name, value])),
      );
      return [read.podSecurity, read.agentVolumes];
    };
    const all = ['persistentVolumeClaim', 'nfs', 'csi'];
    expect(of({})).toEqual(['baseline', all]);
    expect(of({ podSecurity: 'none', volumes: [] })).toEqual([undefined, []]);
    expect(of({ podSecurity: 'restricted', runAsNonRoot: true, volumes: ['csi'] })).toEqual([
      'restricted',
      ['csi'],
    ]);
    const refused = helm.try(['template', 'x'], { ...DATABASE, agents: { podSecurity: 'restricted' } });
    expect(refused.text).toContain('it refuses all pods of agents without agents.runAsNonRoot');
  });

  it('has every program trust the certificates of its Secret, and none without one', () => {
    const of = (values: object): readonly (readonly [string, unknown])[] =>
      helm.render(values).flatMap(({ kind, metadata, spec }) => {
        const pod = spec?.template?.spec;
        const [container] = pod?.containers ?? [];
        if (!pod || !container?.image.includes('agentplane/')) return [];
        const variable = container.env?.find(({ name }) => name === 'NODE_EXTRA_CA_CERTS')?.value;
        const mounted = (container.volumeMounts ?? []).find(({ name }) => name === 'trusted-ca');
        return [[`${kind} ${metadata.name}`, [variable, mounted?.mountPath, pod.volumes?.at(1)]] as const];
      });
    const none = [undefined, undefined, undefined];
    const everything = VALUES['everything'] ?? {};
    const all = of(everything);
    expect(all.map(([name]) => name).sort()).toEqual([
      'Deployment agentplane-api',
      'Deployment agentplane-controller',
      'Job agentplane-setup-kinds',
      'Job agentplane-setup-schema',
      'Job agentplane-setup-workspace',
    ]);
    for (const [, parts] of all)
      expect(parts).toEqual([
        '/etc/agentplane/trusted-ca/ca.crt',
        '/etc/agentplane/trusted-ca',
        {
          name: 'trusted-ca',
          secret: { secretName: 'authorities', items: [{ key: 'all.pem', path: 'ca.crt' }] },
        },
      ]);
    for (const [, parts] of of(DATABASE)) expect(parts).toEqual(none);
    const remote = { ...VALUES['a remote listener'], trustedCa: { existingSecret: 'authorities' } };
    expect(of(remote)).toEqual([
      ['Deployment listener-far', expect.arrayContaining(['/etc/agentplane/trusted-ca/ca.crt'])],
    ]);
    const controller = helm
      .render(everything)
      .find(({ kind, metadata }) => kind === 'Deployment' && metadata.name.endsWith('-controller'));
    const env = controller?.spec?.template?.spec.containers[0]?.env ?? [];
    expect(env.find(({ name }) => name === 'AGENTPLANE_TRUSTED_CA')?.valueFrom).toEqual({
      secretKeyRef: { name: 'authorities', key: 'all.pem' },
    });
  });

  it('gives the prices of a ConfigMap to the api alone', () => {
    const of = (values: object) =>
      helm.render(values).flatMap(({ kind, metadata, spec }) => {
        const pod = spec?.template?.spec;
        const [container] = pod?.containers ?? [];
        const env = container?.env?.find(({ name }) => name === 'AGENTPLANE_MODEL_PRICES')?.value;
        const mount = (container?.volumeMounts ?? []).find(({ name }) => name === 'model-prices')?.mountPath;
        const volume = (pod?.volumes ?? []).find((one) => (one as { name?: string }).name === 'model-prices');
        return env || mount || volume ? [[`${kind} ${metadata.name}`, env, mount, volume]] : [];
      });
    const folder = '/etc/agentplane/model-prices';
    const items = [{ key: 'model-prices.json', path: 'model-prices.json' }];
    const volume = { name: 'model-prices', configMap: { name: 'prices', items } };
    expect(of(VALUES['everything'] ?? {})).toEqual([
      ['Deployment agentplane-api', `${folder}/model-prices.json`, folder, volume],
    ]);
    expect(of(DATABASE)).toEqual([]);
  });

  it('leads the api and the controller to the lake where it is enabled', () => {
    const of = (values: object) =>
      helm.render(values).flatMap(({ kind, metadata, spec }) => {
        const [container] = spec?.template?.spec.containers ?? [];
        const env = (container?.env ?? []).filter(({ name }) => /_LAKE|ATTACHMENT_(B|S)/.test(name));
        const named = env.map(({ name, value, valueFrom }) => [
          name.slice(11),
          value ?? valueFrom?.secretKeyRef,
        ]);
        return env.length > 0 ? [[`${kind} ${metadata.name}`, Object.fromEntries(named) as object]] : [];
      });
    const lake = {
      ATTACHMENT_BUCKET: 'b',
      ATTACHMENT_SECRET_ACCESS_KEY: { name: 'store', key: 'secret-access-key' },
      LAKE: 'on',
      LAKE_PREFIX: 'lake',
      LAKE_QUIET_HOURS: '0',
      LAKE_ERASE_HOURS: '24',
      LAKE_KEPT_HOURS: '168',
      LAKE_ONLY_WRITER: 'true',
    };
    const everything = VALUES['everything'] ?? {};
    expect(of(everything)).toEqual([
      ['Deployment agentplane-api', lake],
      ['Deployment agentplane-controller', lake],
    ]);
    expect(of({ ...everything, lake: { enabled: true, sealing: false } })).toMatchObject([
      ['Deployment agentplane-api', { LAKE: 'read' }],
      ['Deployment agentplane-controller', { LAKE: 'read' }],
    ]);
    expect(of({ ...everything, lake: { enabled: false } })).toMatchObject([
      ['Deployment agentplane-api', {}],
    ]);
  });

  it('installs a remote listener alone, with the rights and the settings of its manifest', () => {
    const objects = helm.render(VALUES['a remote listener'] ?? {});
    const kinds = objects.map(({ kind, metadata }) => `${kind} ${metadata.namespace ?? ''}/${metadata.name}`);
    expect(kinds.sort()).toEqual([
      'Deployment plane/listener-far',
      'NetworkPolicy plane/listener-far',
      'Role agents/listener-far',
      'Role plane/listener-far',
      'RoleBinding agents/listener-far',
      'RoleBinding plane/listener-far',
      'ServiceAccount plane/listener-far',
    ]);
    const apiUrl = 'https://agentplane.example.com';
    const listener: Listener = {
      ...LISTENER,
      metadata: { name: 'far', namespace: 'ws-default' },
      spec: { computeType: 'cluster', computeId: 'far', namespaces: ['plane', 'agents'], remote: { apiUrl } },
    };
    const manifest = buildRemoteListener(listener, {
      hub: { server: 'https://hub', token: 't' },
      idleKey: 'k',
      image: 'i',
      addresses: 'cluster-dns',
      agentsNonRoot: true,
    }) as readonly Rendered[];
    const rulesOf = (of: readonly Rendered[]): unknown[] =>
      of.filter(({ kind }) => kind === 'Role').map(({ rules }) => rules);
    expect(rulesOf(objects)).toEqual(rulesOf(manifest));
    const podOf = (of: readonly Rendered[]) =>
      of.find(({ kind }) => kind === 'Deployment')?.spec?.template?.spec;
    const [rendered, printed] = [podOf(objects), podOf(manifest)].map(
      (pod) => new Map((pod?.containers[0]?.env ?? []).map((one) => [one.name, one])),
    );
    for (const [name, variable] of printed ?? []) expect(rendered?.get(name)).toEqual(variable);
    const values = [...(rendered ?? [])].map(([name, { value = 'x' }]) => [name, value]);
    expect(loadConfig(LISTENER_CONFIG, Object.fromEntries(values))).toMatchObject({
      namespaces: ['plane', 'agents'],
      agentsNonRoot: true,
    });
  });

  it('names what a remote listener lacks', () => {
    const { code, text } = helm.try(['template', 'x'], {
      remoteListener: { name: 'far', hub: { namespace: 'n' } },
    });
    expect([code, text]).toEqual([
      1,
      expect.stringMatching(/set remoteListener\.hub\.\w+ with remoteListener\.name/),
    ]);
  });

  it('leaves the number of api pods to autoscaling, by CPU and, where asked, by memory', () => {
    const scaled = (autoscaling: object) => {
      const objects = helm.render({ ...DATABASE, api: { replicas: 5, autoscaling } });
      const one = (kind: string) =>
        objects.find((each) => each.kind === kind && each.metadata.name.endsWith('-api'))?.spec as
          { readonly replicas?: number; readonly metrics?: readonly object[] } | undefined;
      return [one('Deployment')?.replicas, one('HorizontalPodAutoscaler')?.metrics];
    };
    const by = (name: string, averageUtilization: number) => ({
      type: 'Resource',
      resource: { name, target: { type: 'Utilization', averageUtilization } },
    });
    expect(scaled({ enabled: false })).toEqual([5, undefined]);
    expect(scaled({ enabled: true })).toEqual([undefined, [by('cpu', 75)]]);
    expect(scaled({ enabled: true, targetMemoryUtilization: 80 })).toEqual([
      undefined,
      [by('cpu', 75), by('memory', 80)],
    ]);
  });

  it('puts the dashboard where a sidecar of Grafana finds it', () => {
    const map = helm.render(VALUES['everything'] ?? {}).find(({ kind }) => kind === 'ConfigMap');
    expect(map?.metadata).toMatchObject({
      labels: { grafana_dashboard: '1' },
      annotations: { grafana_folder: 'f' },
    });
    const file = readFileSync(join(CHART, 'files', 'dashboard.json'), 'utf8');
    expect(JSON.parse(map?.data?.['agentplane.json'] ?? '')).toEqual(JSON.parse(file));
    expect(named(helm.render(DATABASE), 'ConfigMap')).toEqual([]);
  });

  it('says what to do without a database', () => {
    const { code, text } = helm.try(['template', 'x'], {});
    expect([code, text]).toEqual([
      1,
      expect.stringContaining('name a Secret with the keys uri and admin-uri'),
    ]);
  });

  it('gives the rights that the platform has on one machine', () => {
    const rights = (objects: readonly Rendered[]): [string, unknown][] =>
      objects
        .filter(({ rules }) => rules)
        .map(({ kind, metadata, rules }) => [`${kind} ${metadata.name}`, rules]);
    const text = readFileSync(join(repository, 'deploy', 'system.yaml'), 'utf8');
    const own = rights(parseAllDocuments(text).map((document) => document.toJS() as Rendered));
    const rendered = new Map(rights(helm.render(DATABASE)));
    for (const [name, rules] of own) expect([name, rendered.get(name)]).toEqual([name, rules]);
    const others = [...rendered.keys()].filter((name) => !own.some(([known]) => known === name));
    expect(others).toEqual(['ClusterRole agentplane-setup', 'Role agentplane-setup']);
  });

  it('keeps kinds, keys and a Postgres to try out of what an uninstallation removes', () => {
    const objects = helm.render(VALUES['a trial'] ?? {});
    expect(named(objects, 'CustomResourceDefinition')).toEqual([]);
    const secrets = objects.filter(({ kind }) => kind === 'Secret');
    expect(
      secrets.map(({ metadata }) => [metadata.name, metadata.annotations?.['helm.sh/resource-policy']]),
    ).toEqual([
      ['agentplane-operator-key', 'keep'],
      ['agentplane-trial-postgres', 'keep'],
    ]);
  });

  it('removes what its hooks make once they have succeeded, their rights among it', () => {
    const policies = helm
      .render(DATABASE)
      .map(({ kind, metadata: { annotations = {} } }) => ({ kind, annotations }))
      .filter(({ annotations }) => annotations['helm.sh/hook'] !== undefined)
      .map(({ kind, annotations }) => [kind, annotations['helm.sh/hook-delete-policy']]);
    expect(policies.map(([kind]) => kind)).toContain('ClusterRole');
    for (const [kind, policy] of policies)
      expect([kind, policy]).toEqual([kind, 'before-hook-creation,hook-succeeded']);
  });

  it('has helm print the log of a hook that fails', () => {
    const jobs = helm
      .render(DATABASE)
      .filter(({ kind, metadata }) => kind === 'Job' && metadata.name.includes('-setup-'));
    expect(jobs.map(({ metadata }) => metadata.annotations?.['helm.sh/hook-output-log-policy'])).toEqual(
      jobs.map(() => 'hook-failed'),
    );
    expect(jobs).toHaveLength(3);
  });

  it('does not restart a Postgres to try when its version changes', () => {
    const postgres = helm.render(VALUES['a trial'] ?? {}).find(({ kind }) => kind === 'StatefulSet');
    const { version } = parse(readFileSync(join(CHART, 'Chart.yaml'), 'utf8')) as { version: string };
    expect(JSON.stringify(postgres?.spec?.template)).toContain('trial-postgres');
    expect(JSON.stringify(postgres?.spec?.template)).not.toContain(version);
  });

  it('lets the controller build in a namespace that it fences off, and the api read its logs', () => {
    const objects = helm.render(VALUES['everything'] ?? {});
    const env = (name: string) =>
      objects
        .find(({ kind, metadata }) => kind === 'Deployment' && metadata.name.endsWith(`-${name}`))
        ?.spec?.template?.spec.containers[0]?.env?.filter(isReadable)
        .map(({ name: key, value = 'x' }) => [key, value]) ?? [];
    const controller = loadConfig(CONTROLLER, Object.fromEntries(env('controller')));
    expect(controller).toMatchObject({
      buildRegistry: 'registry.example.com/team/agents',
      buildNamespace: 'agentplane-builds',
      buildPushSecret: 'push',
      buildPullSecret: 'pull',
      buildRegistryInsecure: true,
      buildRegistryCa: 'PEM',
      buildBase: 'registry.example.com/base:1',
      buildPythonBase: 'registry.example.com/python-base:1',
      builds: 2,
      buildTimeoutMs: 900_000,
      buildMemoryMb: 2048,
      buildImageMegabytes: 2048,
      npmRegistry: 'https://npm.example.com/',
      pythonIndex: 'https://pypi.example.com/simple',
    });
    expect(loadConfig(API, Object.fromEntries(env('api'))).buildNamespace).toBe('agentplane-builds');
    const inside = objects.filter(({ metadata }) => metadata.namespace === 'agentplane-builds');
    expect(inside.map(({ kind }) => kind).sort()).toEqual([
      'LimitRange',
      'NetworkPolicy',
      'ResourceQuota',
      'Role',
      'RoleBinding',
      'RoleBinding',
    ]);
    const namespace = objects.find(({ kind }) => kind === 'Namespace');
    expect(namespace?.metadata).toMatchObject({
      name: 'agentplane-builds',
      annotations: { 'helm.sh/resource-policy': 'keep' },
      labels: { 'pod-security.kubernetes.io/enforce': 'restricted' },
    });
    const binding = inside.find(({ kind }) => kind === 'RoleBinding');
    expect(binding).toMatchObject({ roleRef: { kind: 'ClusterRole', name: 'agentplane-api-logs' } });
  });

  it('lets pods of builds reach no address of the cluster but those that are named', () => {
    const policyOf = (values: object) =>
      helm
        .render(values)
        .find(({ kind, metadata }) => kind === 'NetworkPolicy' && metadata.name === 'builds');
    const policy = policyOf(VALUES['everything'] ?? {});
    const DNS = [
      { port: 53, protocol: 'UDP' },
      { port: 53, protocol: 'TCP' },
    ];
    const v4 = [
      '10.0.0.0/8',
      '100.64.0.0/10',
      '127.0.0.0/8',
      '168.63.129.16/32',
      '169.254.0.0/16',
      '172.16.0.0/12',
      '192.0.0.0/24',
      '192.168.0.0/16',
    ];
    expect(policy?.spec).toEqual({
      podSelector: {},
      policyTypes: ['Ingress', 'Egress'],
      egress: [
        {
          ports: DNS,
          to: [
            { namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'kube-system' } } },
            { ipBlock: { cidr: '169.254.20.10/32' } },
          ],
        },
        {
          to: [
            { ipBlock: { cidr: '0.0.0.0/0', except: v4 } },
            { ipBlock: { cidr: '::/0', except: ['fc00::/7', 'fe80::/10'] } },
          ],
        },
        // which has the uploaded archives
        {
          ports: [{ port: 'http', protocol: 'TCP' }],
          to: [
            expect.objectContaining({
              podSelector: {
                matchLabels: expect.objectContaining({ 'app.kubernetes.io/component': 'api' }) as object,
              },
            }),
          ],
        },
        { to: [{ ipBlock: { cidr: '10.1.2.3/32' } }], ports: [{ port: 443, protocol: 'TCP' }] },
      ],
    });
    const builds = { enabled: true, registry: 'r.example.com/x', dns: [] };
    expect(policyOf({ ...DATABASE, builds })?.spec).toMatchObject({
      egress: [{ ports: DNS }, {}, {}],
    });
    expect(JSON.stringify(policyOf({ ...DATABASE, builds }))).not.toContain('kube-system');
  });

  it('builds nothing unless it is asked to, and then wants a registry and a namespace apart', () => {
    expect(named(helm.render(DATABASE), 'Namespace')).toEqual([]);
    const builds = (more: object) =>
      helm.try(['template', 'x', '--namespace', 'plane'], {
        ...DATABASE,
        builds: { enabled: true, ...more },
      });
    expect(builds({}).text).toContain('name the registry that built images are pushed to');
    expect(builds({ registry: 'r.example.com/x', namespace: 'plane' }).text).toContain(
      'builds.namespace is that of the release',
    );
  });

  it('places listeners and export workers as the pods of the release', () => {
    const deployments = helm.render(VALUES['everything'] ?? {}).filter(({ kind }) => kind === 'Deployment');
    const [api, controller] = ['api', 'controller'].map(
      (name) => deployments.find(({ metadata }) => metadata.name.endsWith(name))?.spec?.template,
    );
    const env =
      controller?.spec.containers[0]?.env?.filter(isReadable).map(({ name, value = 'x' }) => [name, value]) ??
      [];
    const settings = platformSettings(loadConfig(CONTROLLER, Object.fromEntries(env)));
    const listener = buildListenerObjects(LISTENER, settings).deployment.spec.template;
    const placed = {
      nodeSelector: { pool: 'p' },
      priorityClassName: 'system-cluster-critical',
      tolerations: [{ key: 'k', operator: 'Exists' }],
      affinity: { nodeAffinity: {} },
      imagePullSecrets: [{ name: 'registry' }],
    };
    for (const template of [api, listener]) {
      expect(template?.spec).toMatchObject(placed);
      expect(template?.metadata).toMatchObject({ labels: { team: 'x' }, annotations: { a: 'b' } });
    }
    expect(listener.spec.containers[0]?.image).toBe('registry.example.com/agentplane/listener:1.2.3');
  });

  it('bounds the runs of exports of all workspaces, by its value or the variable of an installation', () => {
    const of = (values: object): unknown => {
      const env = helm
        .render({ ...DATABASE, ...values })
        .find(({ kind, metadata }) => kind === 'Deployment' && metadata.name.endsWith('-controller'))
        ?.spec?.template?.spec.containers[0]?.env?.filter(
          ({ name }) => name === 'AGENTPLANE_EXPORT_ALL_RUNS',
        );
      return env?.map(({ value }) => value);
    };
    expect(of({})).toEqual(['100']);
    expect(of({ exports: { concurrentRuns: 0 } })).toEqual(['0']);
    expect(of({ controller: { env: [{ name: 'AGENTPLANE_EXPORT_ALL_RUNS', value: '7' }] } })).toEqual(['7']);
  });

  it('gives export workers an account that it makes, with the role of a cloud and without a token', () => {
    const objects = helm.render(VALUES['everything'] ?? {});
    const controller = objects.find(
      ({ kind, metadata }) => kind === 'Deployment' && metadata.name.endsWith('-controller'),
    );
    const env = controller?.spec?.template?.spec.containers[0]?.env ?? [];
    const { exportServiceAccount } = platformSettings(
      loadConfig(
        CONTROLLER,
        Object.fromEntries(env.filter(isReadable).map(({ name, value = 'x' }) => [name, value])),
      ),
    );
    const account = objects.find(
      ({ kind, metadata }) => kind === 'ServiceAccount' && metadata.name === exportServiceAccount,
    );
    expect(account).toMatchObject({
      metadata: { annotations: { 'eks.amazonaws.com/role-arn': 'arn:aws:iam::1:role/z' } },
      automountServiceAccountToken: false,
    });
  });

  it('names images that the Containerfile has a stage for', () => {
    const stages = [
      ...readFileSync(join(repository, 'Containerfile'), 'utf8').matchAll(/^FROM \S+ AS (\S+)/gm),
    ].map(([, name]) => `agentplane/${name}:${PLATFORM_VERSION}`);
    const settings = { version: PLATFORM_VERSION, apiUrl: 'http://api', addresses: 'cluster-dns' } as const;
    const listener = buildListenerObjects(LISTENER, settings).deployment.spec.template.spec.containers;
    const ours = helm
      .render(DATABASE)
      .flatMap(({ spec }) => spec?.template?.spec.containers ?? [])
      .map(({ image }) => image);
    const images = [
      ...ours,
      ...listener.map(({ image = '' }) => image),
      `agentplane/export-worker:${PLATFORM_VERSION}`,
    ];
    expect(images.length).toBeGreaterThan(4);
    expect(images.filter((image) => !stages.includes(image))).toEqual([]);
  });

  (hasRealKubernetes && kubectlBinary ? describe : describe.skip)('on a real API server', () => {
    const server = testApiServer();
    let kubectl: Kubectl;

    beforeAll(async () => {
      kubectl = new Kubectl(kubectlBinary ?? '', server.kubeconfigPath);
      await kubectl.run(['create', 'namespace', 'plane']);
      await kubectl.run(['create', 'namespace', 'agents']);
      await kubectl.run(['create', 'namespace', 'agentplane-builds']);
      await kubectl.run(['-n', 'agentplane-builds', 'create', 'serviceaccount', 'default']);
      // a controller manager would
      await kubectl.run(['-n', 'plane', 'create', 'serviceaccount', 'default']);
      await kubectl.run(['label', 'namespace', 'plane', 'pod-security.kubernetes.io/enforce=restricted']);
    });

    it.each(Object.entries(VALUES))('satisfies the API server with %s', async (_what, values) => {
      const objects = helm
        .render(values)
        .filter(({ apiVersion }) => !/^(monitoring|gateway)\./.test(apiVersion));
      const input = objects.map((object) => JSON.stringify(object)).join('\n---\n');
      const said = await kubectl.run(['apply', '--server-side', '--dry-run=server', '-f', '-'], { input });
      expect(said.trim().split('\n')).toHaveLength(objects.length);
    });

    it('admits the pod of a build into the namespace of builds', async () => {
      const values = VALUES['everything'] ?? {};
      const fence = helm.render(values).filter(
        // the use of a quota is counted by a controller, which is not here
        ({ kind, metadata }) => kind === 'Namespace' || (kind === 'LimitRange' && metadata.name === 'builds'),
      );
      const input = fence.map((object) => JSON.stringify(object)).join('\n---\n');
      await kubectl.run(['apply', '--server-side', '--force-conflicts', '-f', '-'], { input });
      const images = { namespace: 'agentplane-builds', prefix: 'r', pushSecret: 'push', isInsecure: false };
      const settings = { version: '1', apiUrl: 'http://api', addresses: 'cluster-dns' as const };
      const job = buildGitJob(
        { ...BUILD, images, commit: 'c', timeoutMs: 900_000, memoryMb: 2048, imageMb: 2048, login: {} },
        settings,
      );
      const answer = await kubectl.try(['create', '--dry-run=server', '-f', '-'], {
        input: JSON.stringify(job),
      });
      expect(answer).toMatchObject({ code: 0, stderr: '' });
      const pod = {
        apiVersion: 'v1',
        kind: 'Pod',
        spec: job.spec.template.spec,
        metadata: { name: 'p', namespace: 'agentplane-builds' },
      };
      const made = await kubectl.try(['create', '--dry-run=server', '-f', '-'], {
        input: JSON.stringify(pod),
      });
      expect(made).toMatchObject({ code: 0, stderr: '' });
    });

    it('makes pods that the restricted Pod Security Standard allows', async () => {
      for (const values of Object.values(VALUES))
        for (const { kind, metadata, spec } of helm.render(values)) {
          if (!spec?.template) continue;
          const pod = {
            apiVersion: 'v1',
            kind: 'Pod',
            metadata: { name: 'p', namespace: 'plane' },
            spec: {
              ...spec.template.spec,
              serviceAccountName: 'default',
              volumes: [
                ...(spec.template.spec.volumes ?? []),
                // a StatefulSet's controller would
                ...(spec.volumeClaimTemplates ?? []).map((claim) => ({
                  name: claim.metadata.name,
                  emptyDir: {},
                })),
              ],
            },
          };
          const answer = await kubectl.try(['create', '--dry-run=server', '-f', '-'], {
            input: JSON.stringify(pod),
          });
          expect([kind, metadata.name, answer.stderr]).toEqual([kind, metadata.name, '']);
        }
    });

    describe('for the accounts of the api and of the controller', () => {
      const ours = ['app.kubernetes.io/managed-by=agentplane'];
      const as = (account: string): string => `--as=system:serviceaccount:plane:${account}`;
      const secret = (name: string, type = 'Opaque'): Rendered & { readonly type: string } => ({
        apiVersion: 'v1',
        kind: 'Secret',
        type,
        metadata: { name, annotations: { 'kubernetes.io/service-account.name': 'default' } },
      });
      const namespace = (name: string, managedBy: string) => ({
        apiVersion: 'v1',
        kind: 'Namespace',
        metadata: { name, labels: { 'app.kubernetes.io/managed-by': managedBy } },
      });
      const deployment = {
        apiVersion: 'apps/v1',
        kind: 'Deployment',
        metadata: { name: 'd' },
        spec: {
          selector: { matchLabels: { a: 'b' } },
          template: {
            metadata: { labels: { a: 'b' } },
            spec: { containers: [{ name: 'c', image: 'i' }] },
          },
        },
      };
      const binding = {
        apiVersion: 'rbac.authorization.k8s.io/v1',
        kind: 'RoleBinding',
        metadata: { name: 'b' },
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'agentplane-api-logs' },
        subjects: [{ kind: 'ServiceAccount', name: 'api', namespace: 'plane' }],
      };
      const tokens = 'kubernetes.io/service-account-token';

      function create(account: string, place: string, object: object): Promise<Answer> {
        const words = [as(account), '-n', place, 'create', '--dry-run=server', '-f', '-'];
        return kubectl.try(words, { input: JSON.stringify(object) });
      }

      beforeAll(async () => {
        const kinds =
          /^(ServiceAccount|(Cluster)?Role|(Cluster)?RoleBinding|ValidatingAdmissionPolicy(Binding)?)$/;
        const rights = helm
          .render(VALUES['everything'] ?? {})
          .filter(({ kind, metadata }) => kinds.test(kind) && !metadata.annotations?.['helm.sh/hook']);
        const workspace = [
          namespace('ws-a', 'agentplane'),
          namespace('agentplane-builds', 'agentplane'),
          ...buildProgramBindings('ws-a', 'plane'),
          ...['plane', 'kube-system', 'ws-a', 'agentplane-builds'].map((place) => ({
            ...secret('kept'),
            metadata: { name: 'kept', namespace: place },
          })),
        ];
        const input = [...workspace, ...rights].map((object) => JSON.stringify(object)).join('\n---\n');
        await kubectl.run(['apply', '--server-side', '-f', '-'], { input });
        await kubectl.run(['create', 'namespace', 'of-others']);
        // a new policy holds once the API server has seen it
        await waitFor(async () => (await create('controller', 'of-others', secret('s'))).code !== 0);
      });

      it.each<[string, string, object]>([
        ['api', 'ws-a', secret('s')],
        ['controller', 'ws-a', secret('s')],
        ['controller', 'plane', secret('s')],
        ['controller', 'ws-a', deployment],
        ['controller', 'ws-a', binding],
        ['controller', '', namespace('ws-b', 'agentplane')],
      ])('admits what %s makes in "%s"', async (account, place, object) => {
        expect(await create(account, place, object)).toMatchObject({ code: 0 });
      });

      it.each<[string, string, object, RegExp]>([
        ['api', 'kube-system', secret('s', tokens), /cannot create resource "secrets"/],
        ['api', 'of-others', secret('s'), /cannot create resource "secrets"/],
        ['api', 'plane', secret('s'), /cannot create resource "secrets"/],
        ['api', 'ws-a', secret('s', tokens), /make no Secret with a token/],
        ['controller', 'ws-a', secret('s', tokens), /make no Secret with a token/],
        ['controller', 'kube-system', secret('s'), /cannot create resource "secrets"/],
        ['controller', 'of-others', deployment, /change nothing outside of the namespaces/],
        ['controller', 'kube-system', binding, /change nothing outside of the namespaces/],
        ['controller', '', namespace('mine', 'someone'), /change no namespace but those/],
      ])('refuses what %s makes in "%s": %#', async (account, place, object, words) => {
        expect(await create(account, place, object)).toMatchObject({
          code: 1,
          stderr: expect.stringMatching(words) as string,
        });
      });

      it('shows the controller Secrets of workspaces, builds and the release alone', async () => {
        const get = (place: string): Promise<Answer> =>
          kubectl.try([as('controller'), '-n', place, 'get', 'secret', 'kept', '-o', 'name']);
        const list = ['list', 'watch'].map((verb) =>
          kubectl.try([as('controller'), '-n', 'ws-a', 'auth', 'can-i', verb, 'secrets']),
        );
        for (const place of ['ws-a', 'plane', 'agentplane-builds'])
          expect([place, (await get(place)).stdout]).toEqual([place, 'secret/kept\n']);
        for (const place of ['kube-system', 'of-others', 'default'])
          expect((await get(place)).stderr).toMatch(/cannot get resource "secrets"/);
        for (const { stdout } of await Promise.all(list)) expect(stdout).toBe('no\n');
      });

      it('lets the controller bind no other role, and keeps its right while a namespace ends', async () => {
        const other = { ...binding, roleRef: { ...binding.roleRef, name: 'cluster-admin' } };
        expect((await create('controller', 'ws-a', other)).stderr).toMatch(/attempting to grant RBAC/);
        const own = ['-n', 'ws-a', 'delete', 'rolebinding', 'agentplane-controller-secrets', '--wait=false'];
        await kubectl.run(own);
        const read = [as('controller'), '-n', 'ws-a', 'get', 'secret', 'kept', '-o', 'name'];
        expect((await kubectl.try(read)).stdout).toBe('secret/kept\n');
      });

      it('keeps namespaces and NetworkPolicies of others from being deleted, and Secrets from being read', async () => {
        const refused = async (account: string, ...words: string[]): Promise<string> =>
          (await kubectl.try([as(account), ...words])).stderr;
        expect(await refused('controller', 'delete', 'namespace', 'of-others', '--dry-run=server')).toMatch(
          /change no namespace but those/,
        );
        const label = ['label', 'namespace', 'of-others', ...ours, '--dry-run=server'];
        expect(await refused('controller', ...label)).toMatch(/change no namespace but those/);
        expect(await refused('api', '-n', 'plane', 'get', 'secret', 'kept')).toMatch(
          /cannot get resource "secrets"/,
        );
        const policy = {
          apiVersion: 'networking.k8s.io/v1',
          kind: 'NetworkPolicy',
          spec: { podSelector: {} },
          metadata: { name: 'fence', namespace: 'of-others' },
        };
        await kubectl.run(['create', '-f', '-'], { input: JSON.stringify(policy) });
        const fence = ['-n', 'of-others', 'delete', 'networkpolicy', 'fence', '--dry-run=server'];
        expect(await refused('controller', ...fence)).toMatch(/change nothing outside of the namespaces/);
      });
    });
  });
});
