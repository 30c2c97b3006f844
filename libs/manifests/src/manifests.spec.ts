import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  type AgentRevision,
  ANNOTATION,
  type BulkExportRun,
  COMPONENT,
  type Deployment,
  digestIdleToken,
  LABEL,
  type Listener,
} from '#lib/resources';
import {
  addressOf,
  buildDeploymentService,
  buildExportJob,
  buildExportSecret,
  buildSealJob,
  buildSealSecret,
  buildListenerKey,
  buildListenerObjects,
  buildQueueDeployment,
  buildRevisionDeployment,
  idleToken,
  podsThatConnect,
  queueRange,
  wantedConnections,
  wantedQueueReplicas,
  wantedReplicas,
} from './index.js';
import { podResources } from './pod-resources.js';

const SETTINGS = { version: '1.2.3', apiUrl: 'http://api:8470', addresses: 'cluster-dns' } as const;

const API_PODS = { [LABEL.revision]: 'a-00001', [LABEL.component]: COMPONENT.agentApi };

/**
 * Templates that 0.2.0 made of revisions, by their resource specs: those of the pods that answer, and of
 * those that take runs.
 */
const RELEASED_TEMPLATES = JSON.parse(
  readFileSync(join(import.meta.dirname, 'testdata', 'templates-0.2.0.json'), 'utf8'),
) as Readonly<Record<string, unknown>>;

/** True when a selector takes a pod with these labels. */
function selects(selector: object | undefined, labels: object | undefined): boolean {
  const of = new Map(Object.entries(labels ?? {}));
  return Object.entries(selector ?? {}).every(([name, value]) => of.get(name) === value);
}

function revision(resourceSpec?: AgentRevision['spec']['resourceSpec']): AgentRevision {
  return {
    apiVersion: 'agentplane.dev/v1alpha1',
    kind: 'AgentRevision',
    metadata: { name: 'a-00001', namespace: 'ws-x', uid: 'u' },
    spec: {
      deploymentName: 'a',
      deploymentWireName: 'My agent',
      tenantId: 'tenant',
      number: 1,
      source: 'external_image',
      imageUri: 'registry/agent:1',
      envSecretName: 'a-00001-env',
      databaseSecretName: 'a-database',
      platformSecretName: 'a-platform',
      listenerName: 'default',
      ...(resourceSpec ? { resourceSpec } : {}),
    },
    status: { image: 'registry/agent@sha256:1' },
  };
}

describe('podResources', () => {
  it.each([
    ['nothing wanted: small requests, no limits', {}, { requests: { cpu: '100m', memory: '256Mi' } }],
    [
      'limits are twice the requests',
      { cpu: 1, memoryMb: 512 },
      { requests: { cpu: '1000m', memory: '512Mi' }, limits: { cpu: '2000m', memory: '1024Mi' } },
    ],
    [
      'given limits stay',
      { cpu: 1, cpuLimit: 1.5, memoryMb: 512, memoryLimitMb: 600 },
      { requests: { cpu: '1000m', memory: '512Mi' }, limits: { cpu: '1500m', memory: '600Mi' } },
    ],
    [
      'a small limit lowers the default request',
      { memoryLimitMb: 128 },
      { requests: { cpu: '100m', memory: '128Mi' }, limits: { memory: '128Mi' } },
    ],
    [
      'cores are rounded to one decimal place',
      { cpu: 0.26 },
      { requests: { cpu: '300m', memory: '256Mi' }, limits: { cpu: '600m' } },
    ],
  ])('%s', (_, wanted, expected) => {
    expect(podResources(wanted)).toEqual(expected);
  });
});

describe('Deployment of a revision', () => {
  const built = buildRevisionDeployment(revision(), 2, SETTINGS);
  const pod = built.spec.template.spec;
  const agent = pod.containers[0];

  it('names the Deployment after the revision and selects only its pods', () => {
    expect(built.metadata.name).toBe('a-00001');
    expect(built.spec.selector.matchLabels).toEqual(API_PODS);
    expect(built.spec.template.metadata?.labels).toMatchObject(built.spec.selector.matchLabels ?? {});
    expect(built.spec.replicas).toBe(2);
  });
  it('runs the image that was resolved, not the one that was asked for', () => {
    expect(agent?.image).toBe('registry/agent@sha256:1');
  });
  it('leaves replicas to an autoscaler', () => {
    const scaled = buildRevisionDeployment(revision(), 'autoscaled', SETTINGS);
    expect(Object.keys(scaled.spec)).not.toContain('replicas');
    expect(scaled.spec.template).toEqual(built.spec.template);
  });
  it('gives pods no rights towards the cluster', () => {
    expect(pod.automountServiceAccountToken).toBe(false);
    expect(agent?.securityContext).toMatchObject({ allowPrivilegeEscalation: false });
  });
  it('probes readiness by /ok', () => {
    expect(agent?.readinessProbe?.httpGet).toEqual({ path: '/ok', port: 'http' });
  });
  it('has the platform’s variables, secrets only by reference', () => {
    const env = new Map(agent?.env?.map(({ name, value, valueFrom }) => [name, value ?? valueFrom]));
    expect(Object.fromEntries(env)).toEqual({
      PORT: '8000',
      AGENTPLANE_SERVICE_URL: 'http://a.ws-x.svc',
      AGENTPLANE_METRICS_HOST: { fieldRef: { fieldPath: 'status.podIP' } },
      AGENTPLANE_METRICS_PORT: '9464',
      LANGSMITH_TRACING: 'true',
      LANGSMITH_ENDPOINT: 'http://api:8470',
      LANGSMITH_API_KEY: { secretKeyRef: { name: 'a-platform', key: 'LANGSMITH_API_KEY' } },
      LANGSMITH_PROJECT: 'My agent',
      POSTGRES_URI: { secretKeyRef: { name: 'a-database', key: 'POSTGRES_URI' } },
      AGENTPLANE_AUTH_URL: 'http://api:8470',
      AGENTPLANE_TENANT_ID: 'tenant',
      AGENTPLANE_DEPLOYMENT: 'My agent',
      AGENTPLANE_REVISION: 'a-00001',
    });
    expect(agent?.envFrom).toEqual([{ secretRef: { name: 'a-00001-env' } }]);
  });
  it('has the certificates of a database whose Secret has a mark', () => {
    const marked = buildRevisionDeployment(revision(), 1, SETTINGS, 'mark');
    expect(marked.spec.template.spec.containers[0]?.env).toContainEqual({
      name: 'AGENTPLANE_TRUSTED_CA',
      valueFrom: { secretKeyRef: { name: 'a-database', key: 'ca.crt', optional: true } },
    });
  });
  it.each([
    ['every deployment', {}],
    ['one with a queue', { queueMinScale: 1, queueMaxScale: 2 }],
    ['one that may sleep', { minScale: 0 }],
  ])('makes pods of %s as 0.2.0 made them, so that an upgrade replaces none', (_, resourceSpec) => {
    const settings = { ...SETTINGS, idleKey: 'key' };
    const templates = [buildRevisionDeployment, buildQueueDeployment].map(
      (build) => build(revision(resourceSpec), 1, settings).spec.template,
    );
    expect(templates).toEqual(RELEASED_TEMPLATES[JSON.stringify(resourceSpec)]);
  });
  it('leaves the port to the node on loopback', () => {
    const local = buildRevisionDeployment(revision(), 1, { ...SETTINGS, addresses: 'loopback' });
    expect(local.spec.template.spec.containers[0]?.env?.some(({ name }) => name === 'PORT')).toBe(false);
  });
  it('carries the user’s parts, except labels that would move its pods', () => {
    const { metadata, spec } = buildRevisionDeployment(
      revision({
        labels: { team: 'x', [LABEL.revision]: 'other' },
        annotations: { note: 'y' },
        volumes: [{ name: 'v', configMap: { name: 'c' } }],
        volumeMounts: [{ name: 'v', mountPath: '/v' }],
        sidecars: [{ name: 's', image: 'i' }],
        initContainers: [{ name: 'first', image: 'i' }],
        serviceAccountName: 'mine',
        imagePullSecrets: [{ name: 'registry' }],
      }),
      1,
      SETTINGS,
    );
    expect(metadata.labels).toMatchObject({ team: 'x', [LABEL.revision]: 'a-00001' });
    expect(spec.template.metadata?.annotations).toMatchObject({ note: 'y', 'prometheus.io/scrape': 'true' });
    expect(spec.template.spec).toMatchObject({
      volumes: [{ name: 'v', configMap: { name: 'c' } }],
      serviceAccountName: 'mine',
      imagePullSecrets: [{ name: 'registry' }],
      initContainers: [{ name: 'first', image: 'i' }],
    });
    expect(spec.template.spec.containers.map(({ name }) => name)).toEqual(['agent', 's']);
    expect(spec.template.spec.containers[0]?.volumeMounts).toEqual([{ name: 'v', mountPath: '/v' }]);
  });
  it('places pods as the resource spec says, on a cluster', () => {
    const placement = {
      nodeSelector: { pool: 'agents' },
      tolerations: [{ key: 'agents', operator: 'Exists' }],
      affinity: { nodeAffinity: {} },
      topologySpreadConstraints: [{ maxSkew: 1 }],
      priorityClassName: 'high',
      runtimeClassName: 'gvisor',
    };
    const specOf = (settings: typeof SETTINGS) =>
      buildRevisionDeployment(revision(placement), 1, settings).spec.template.spec;
    expect(specOf(SETTINGS)).toMatchObject(placement);
    const local = specOf({ ...SETTINGS, addresses: 'loopback' } as never);
    expect(local).not.toHaveProperty('affinity');
    expect(local.nodeSelector).not.toHaveProperty('pool');
  });
  it('makes sidecars that name Always sidecars of Kubernetes’ own kind, after the init containers', () => {
    const { spec } = buildRevisionDeployment(
      revision({
        initContainers: [{ name: 'first', image: 'i' }],
        sidecars: [
          { name: 'proxy', image: 'i', restartPolicy: 'Always' },
          { name: 'plain', image: 'i' },
        ],
      }),
      1,
      SETTINGS,
    );
    const pod = spec.template.spec;
    expect(pod.initContainers).toEqual([
      { name: 'first', image: 'i' },
      { name: 'proxy', image: 'i', restartPolicy: 'Always' },
    ]);
    expect(pod.containers.map(({ name }) => name)).toEqual(['agent', 'plain']);
  });
  it('runs the agent’s own image beside it, where a container names it as the deployment does', () => {
    const wanted = revision({
      sidecars: [
        { name: 's', image: 'agent' },
        { name: 't', image: 'other' },
      ],
    });
    const spec = { ...wanted.spec, source: 'internal_image', imageUri: 'agent' } as const;
    const imagesOf = (one: AgentRevision) =>
      buildRevisionDeployment(one, 1, SETTINGS).spec.template.spec.containers.map(({ image }) => image);
    const own = 'registry/agent@sha256:1';
    expect(imagesOf({ ...wanted, spec })).toEqual([own, own, 'other']);
    expect(imagesOf({ ...wanted, spec: { ...spec, source: 'external_image' } })).toEqual([
      own,
      'agent',
      'other',
    ]);
  });
  it('runs one pod at minScale 0 while it is awake', () => {
    expect(
      [undefined, 0, 3].map((minScale) =>
        wantedReplicas(revision(minScale === undefined ? undefined : { minScale })),
      ),
    ).toEqual([1, 1, 3]);
  });
});

describe('second workload of a revision', () => {
  const api = buildRevisionDeployment(
    revision({ labels: { [LABEL.component]: 'agent-queue' } }),
    1,
    SETTINGS,
  );
  const service = buildDeploymentService(revision(), 'a-00001');
  const asked = revision({ cpu: 1, memoryMb: 512, minScale: 3, queueCpu: 2, queueMemoryLimitMb: 4096 });
  const built = buildQueueDeployment(asked, 1, SETTINGS);
  const queue = built.spec.template.metadata?.labels;
  const queueSelector = built.spec.selector.matchLabels;

  it('gets no HTTP traffic: the Service selects the pods of the API alone', () => {
    expect(selects(service.spec.selector, api.spec.template.metadata?.labels)).toBe(true);
    expect(selects(service.spec.selector, queue)).toBe(false);
  });
  it('shares no pod with it: their selectors are disjoint, whatever labels a user adds', () => {
    expect(selects(api.spec.selector.matchLabels, queue)).toBe(false);
    expect(selects(queueSelector, api.spec.template.metadata?.labels)).toBe(false);
    expect(selects(queueSelector, queue)).toBe(true);
  });
  it('exists for any field of the queue, with the defaults of the revision', () => {
    expect(
      [{}, { maxScale: 4 }, { queueMaxScale: 4 }, { minScale: 3, queueCpu: 1 }, { queueMinScale: 0 }].map(
        (spec) => wantedQueueReplicas(revision(spec)),
      ),
    ).toEqual([undefined, undefined, 1, 3, 1]);
    expect(built.metadata.name).toBe('a-00001-queue');
    expect(built.spec.template.spec.containers[0]?.resources).toEqual({
      requests: { cpu: '2000m', memory: '512Mi' },
      limits: { cpu: '4000m', memory: '4096Mi' },
    });
  });
  it('has as few and as many pods as the revision says, by its own fields or those of all pods', () => {
    expect(
      [
        { queueMinScale: 2 },
        { queueMinScale: 0, queueMaxScale: 4 },
        { queueCpu: 1, minScale: 2, maxScale: 5 },
        { minScale: 6, queueMaxScale: 3 },
        { queueMaxScale: 0 },
      ].map((spec) => queueRange(revision(spec))),
    ).toEqual([
      { min: 2, max: 2 },
      { min: 1, max: 4 },
      { min: 2, max: 5 },
      { min: 3, max: 3 },
      { min: 1, max: 1 },
    ]);
  });
  it('leaves room for its pods among the connections of the database', () => {
    expect(
      [undefined, { queueMaxScale: 3 }, { dbMaxConnections: 200 }].map((spec) => podsThatConnect(spec)),
    ).toEqual([4, 10, 22]);
    expect([podsThatConnect({ dbMaxConnections: 200 }, 59), podsThatConnect(undefined, 59)]).toEqual([6, 4]);
  });
  it('counts for the connections that the database admits, as more pods and those of four revisions do', () => {
    expect(
      [undefined, { minScale: 2 }, { maxScale: 2 }, { queueMaxScale: 2 }, { minScale: 50 }].map(
        wantedConnections,
      ),
    ).toEqual([38, 74, 56, 92, 100]);
  });
  it('has its role in a variable, as the first one then has', () => {
    const roleOf = ({ spec }: Deployment) =>
      spec.template.spec.containers[0]?.env?.find(({ name }) => name === 'AGENTPLANE_ROLE')?.value;
    expect([built, buildRevisionDeployment(asked, 1, SETTINGS), api].map(roleOf)).toEqual([
      'queue',
      'api',
      undefined,
    ]);
  });
});

describe('Service of a deployment', () => {
  it('names one revision and selects the pods that run it', () => {
    const service = buildDeploymentService(revision(), 'a-00001');
    expect(service.metadata.name).toBe('a');
    expect(service.metadata.labels).toMatchObject({ [LABEL.revision]: 'a-00001' });
    expect(service.spec.selector).toEqual(API_PODS);
    expect(buildDeploymentService(revision(), 'a-00000').spec.selector).toMatchObject({
      [LABEL.revision]: 'a-00000',
    });
    expect(service.spec.ports).toEqual([{ name: 'http', port: 80, targetPort: 'http', protocol: 'TCP' }]);
  });
});

describe('addressOf', () => {
  const service = (annotation?: string) => ({
    metadata: {
      name: 'a',
      namespace: 'ws-x',
      ...(annotation === undefined ? {} : { annotations: { [ANNOTATION.loopbackPort]: annotation } }),
    },
    spec: { ports: [{ port: 80 }] },
  });
  it.each([
    ['a name of the cluster’s DNS', service(), 'cluster-dns', 'http://a.ws-x.svc'],
    ['nothing before the node assigned a port', service(), 'loopback', undefined],
    ['the port on loopback', service('41300'), 'loopback', 'http://127.0.0.1:41300'],
    ['the port among several', service('{"80":41301,"81":41302}'), 'loopback', 'http://127.0.0.1:41301'],
    ['nothing when the annotation is no port', service('{"81":1}'), 'loopback', undefined],
    ['nothing when the annotation cannot be read', service('{'), 'loopback', undefined],
  ] as const)('answers %s', (_, one, mode, expected) => {
    expect(addressOf(one, mode)).toBe(expected);
  });
});

describe('the token of a revision', () => {
  const digestOf = (one: AgentRevision, settings: Parameters<typeof buildRevisionDeployment>[2]) =>
    buildRevisionDeployment(one, 1, settings)
      .spec.template.spec.containers.flatMap(({ env = [] }) => env)
      .find(({ name }) => name === 'AGENTPLANE_IDLE_TOKEN_SHA256')?.value;
  const napping = revision({ minScale: 0 });

  it('reaches pods that may sleep as its digest alone', () => {
    const settings = { ...SETTINGS, idleKey: 'k' };
    const token = idleToken(napping, 'k');
    expect(digestOf(napping, settings)).toBe(digestIdleToken(token));
    expect(JSON.stringify(buildRevisionDeployment(napping, 1, settings))).not.toContain(token);
    expect(digestOf(revision(), settings)).toBeUndefined();
  });

  it('differs by revision and by key', () => {
    const other = { ...napping, metadata: { ...napping.metadata, uid: 'v' } };
    const tokens = [idleToken(napping, 'k'), idleToken(other, 'k'), idleToken(napping, 'l')];
    expect(new Set(tokens).size).toBe(3);
  });
});

describe('objects of a listener', () => {
  const listener: Listener = {
    apiVersion: 'agentplane.dev/v1alpha1',
    kind: 'Listener',
    metadata: { name: 'default', namespace: 'ws-x' },
    spec: { computeType: 'cluster', computeId: 'here' },
  };
  const objects = buildListenerObjects(listener, SETTINGS);
  it('asks for what namespaces with the restricted standard ask for, of agents where the platform says so', () => {
    expect(objects.deployment.spec.template.spec.securityContext).toMatchObject({ runAsNonRoot: true });
    const agents = (agentsNonRoot: boolean) =>
      buildRevisionDeployment(revision(), 1, { ...SETTINGS, agentsNonRoot }).spec.template.spec
        .securityContext;
    expect(agents(true)).toEqual({ seccompProfile: { type: 'RuntimeDefault' }, runAsNonRoot: true });
    expect(agents(false)).toEqual({ seccompProfile: { type: 'RuntimeDefault' } });
    const handedOn = buildListenerObjects(listener, { ...SETTINGS, agentsNonRoot: true }).deployment;
    expect(handedOn.spec.template.spec.containers[0]?.env).toContainEqual({
      name: 'AGENTPLANE_AGENTS_NON_ROOT',
      value: 'true',
    });
  });
  it('has probes, limits and a read-only root on a cluster, and none of them on one machine', () => {
    const specOf = (settings: typeof SETTINGS) =>
      buildListenerObjects(listener, settings).deployment.spec.template.spec;
    const { containers, volumes } = specOf(SETTINGS);
    expect(containers[0]).toMatchObject({
      livenessProbe: {
        httpGet: { path: '/healthz', port: 'metrics' },
        periodSeconds: 10,
        failureThreshold: 3,
      },
      readinessProbe: { tcpSocket: { port: 'metrics' } },
      resources: { limits: { memory: '512Mi' } },
      securityContext: { readOnlyRootFilesystem: true },
      volumeMounts: [{ name: 'tmp', mountPath: '/tmp' }],
    });
    expect(volumes).toEqual([{ name: 'tmp', emptyDir: {} }]);
    const local = specOf({ ...SETTINGS, addresses: 'loopback' } as never);
    expect(local.containers[0]).not.toHaveProperty('livenessProbe');
    expect(local).not.toHaveProperty('volumes');
  });
  it('shares one name in the listener’s namespace', () => {
    const metas = [objects.serviceAccount, objects.role, objects.roleBinding, objects.deployment].map(
      ({ metadata }) => `${metadata.namespace}/${metadata.name}`,
    );
    expect(new Set(metas)).toEqual(new Set(['ws-x/listener-default']));
  });
  it("starts the listener again with another key, and keeps the key out of its pod's spec", () => {
    const of = (mark: string) => buildListenerObjects(listener, SETTINGS, mark).deployment.spec.template;
    expect(of('a').metadata).not.toEqual(of('b').metadata);
    const [variable] = (of('a').spec.containers[0]?.env ?? []).filter(
      ({ valueFrom }) => valueFrom?.secretKeyRef,
    );
    expect(variable).toEqual({
      name: 'AGENTPLANE_IDLE_KEY',
      valueFrom: { secretKeyRef: { name: 'listener-default-key', key: 'key' } },
    });
    expect(buildListenerKey(listener, 'k')).toMatchObject({
      metadata: { name: 'listener-default-key', namespace: 'ws-x' },
      data: { key: 'aw==' },
    });
  });
  it('grants no right to read Secrets', () => {
    const resources = objects.role.rules?.flatMap((rule) => rule.resources ?? []);
    expect(resources).not.toContain('secrets');
    expect(resources).not.toContain('*');
  });
});

describe('worker that seals days', () => {
  const keys = { AGENTPLANE_ATTACHMENT_ACCESS_KEY_ID: 'k' };
  const job = buildSealJob('agentplane-system', { ...SETTINGS, lake: { AGENTPLANE_LAKE: 'on' } });
  const secret = buildSealSecret('agentplane-system', { databaseUri: 'postgres://secret', lakeKeys: keys });
  it('builds one Job of one try in the system namespace, apart from those of export runs', () => {
    const labels = { 'app.kubernetes.io/component': 'export-worker', 'agentplane.dev/sealing': 'true' };
    const metadata = { name: 'lake-seal', namespace: 'agentplane-system', labels };
    expect([job.metadata, secret.metadata]).toMatchObject([metadata, metadata]);
    expect(job.metadata.labels).not.toHaveProperty('agentplane.dev/export-run');
    expect(job.spec).toMatchObject({ backoffLimit: 0, activeDeadlineSeconds: 14_400 });
  });
  it('seals with the credentials of its Secret', () => {
    const env = job.spec.template.spec.containers[0]?.env;
    expect(env).toContainEqual({ name: 'AGENTPLANE_SEAL', value: 'true' });
    expect(env).toContainEqual({ name: 'AGENTPLANE_LAKE', value: 'on' });
    const secretKeyRef = { name: 'lake-seal', key: 'database_uri', optional: false };
    expect(env).toContainEqual({ name: 'AGENTPLANE_DATABASE_URI', valueFrom: { secretKeyRef } });
    expect(JSON.stringify(job)).not.toContain('postgres://');
    expect(secret.data).toEqual({
      database_uri: Buffer.from('postgres://secret').toString('base64'),
      AGENTPLANE_ATTACHMENT_ACCESS_KEY_ID: 'aw==',
    });
  });
});

describe('export attempt', () => {
  const run: BulkExportRun = {
    apiVersion: 'agentplane.dev/v1alpha1',
    kind: 'BulkExportRun',
    metadata: { name: 'x-20260819', namespace: 'ws-x', uid: '01234567-89ab-4def-8123-456789abcdef' },
    spec: {
      exportName: 'x',
      exportId: 'e',
      tenantId: 't',
      projectId: 'p',
      startTime: '2026-08-19T00:00:00Z',
      endTime: '2026-08-20T00:00:00Z',
      destination: { config: { bucketName: 'b', includeBucketInPrefix: true } },
      format: 'parquet',
      formatVersion: 'v1',
      compression: 'zstd',
    },
  };
  const attempt = { run, number: 3, systemNamespace: 'agentplane-system', timeoutMs: 14_400_000 };
  const job = buildExportJob(attempt, SETTINGS);
  const secret = buildExportSecret(attempt, {
    databaseUri: 'postgres://secret',
    store: { access_key_id: 'QQ==', other: 'Qg==' },
  });
  it('runs as another user than root in a cluster, as the platform’s user on one machine', () => {
    const of = (addresses: 'cluster-dns' | 'loopback') =>
      buildExportJob(attempt, { ...SETTINGS, addresses }).spec.template.spec.securityContext;
    expect(of('cluster-dns')).toMatchObject({ runAsNonRoot: true });
    expect(of('loopback')).not.toHaveProperty('runAsNonRoot');
  });
  it('runs in the system namespace, out of reach of agents', () => {
    expect(job.metadata).toMatchObject({ name: 'bxr-0123456789ab-3', namespace: 'agentplane-system' });
    expect(secret.metadata).toMatchObject({ name: 'bxr-0123456789ab-3', namespace: 'agentplane-system' });
  });
  it('builds a Job of one try of at most four hours, without a token', () => {
    expect(job.spec).toMatchObject({ backoffLimit: 0, activeDeadlineSeconds: 14_400 });
    expect(job.spec.template.spec).toMatchObject({
      restartPolicy: 'Never',
      automountServiceAccountToken: false,
    });
  });
  it('has the account that the platform was given, and names none otherwise', () => {
    const of = (exportServiceAccount?: string) =>
      buildExportJob(attempt, { ...SETTINGS, exportServiceAccount }).spec.template.spec;
    expect(of('export-worker').serviceAccountName).toBe('export-worker');
    expect(of()).not.toHaveProperty('serviceAccountName');
  });
  it.each([
    [undefined, 'false'],
    [false, 'false'],
    [true, 'true'],
  ])('may dial private endpoints when the platform allows it: %s', (allowPrivateEndpoints, expected) => {
    const { spec } = buildExportJob(attempt, { ...SETTINGS, allowPrivateEndpoints }).spec.template;
    expect(spec.containers[0]?.env).toContainEqual({
      name: 'AGENTPLANE_ALLOW_PRIVATE_ENDPOINTS',
      value: expected,
    });
  });
  it('hands on the bounds of files that the platform was given', () => {
    const exportFiles = { AGENTPLANE_EXPORT_FILE_ROWS: '1000' };
    const { spec } = buildExportJob(attempt, { ...SETTINGS, exportFiles }).spec.template;
    expect(spec.containers[0]?.env).toContainEqual({ name: 'AGENTPLANE_EXPORT_FILE_ROWS', value: '1000' });
  });
  it('gives freed memory back to the system', () => {
    const [worker] = job.spec.template.spec.containers;
    expect(worker?.env).toContainEqual({ name: 'MALLOC_MMAP_THRESHOLD_', value: '1048576' });
  });
  it('trusts the certificates in its Secret where the platform has some', () => {
    const { spec } = buildExportJob(attempt, { ...SETTINGS, trustedCa: 'PEM' }).spec.template;
    const [worker] = spec.containers;
    const file = '/etc/agentplane/trusted-ca/ca.crt';
    expect(worker?.env).toContainEqual({ name: 'NODE_EXTRA_CA_CERTS', value: file });
    expect([worker?.volumeMounts, spec.volumes]).toEqual([
      [{ name: 'trusted-ca', mountPath: '/etc/agentplane/trusted-ca', readOnly: true }],
      [
        {
          name: 'trusted-ca',
          secret: {
            secretName: 'bxr-0123456789ab-3',
            items: [{ key: 'ca.crt', path: 'ca.crt' }],
            optional: true,
          },
        },
      ],
    ]);
    const credentials = { databaseUri: 'u', store: {}, trustedCa: 'PEM' };
    expect(buildExportSecret(attempt, credentials).data?.['ca.crt']).toBe('UEVN');
    expect(job.spec.template.spec.volumes).toBeUndefined();
  });
  it('reads sealed days with keys of its Secret where there is a lake', () => {
    const lake = { AGENTPLANE_LAKE: 'on', AGENTPLANE_ATTACHMENT_BUCKET: 'b' };
    const name = 'AGENTPLANE_ATTACHMENT_SECRET_ACCESS_KEY';
    const credentials = { databaseUri: 'u', store: {}, lakeKeys: { [name]: 'k' } };
    expect(buildExportSecret(attempt, credentials).data?.[name]).toBe('aw==');
    const env = buildExportJob(attempt, { ...SETTINGS, lake }).spec.template.spec.containers[0]?.env;
    expect(env).toContainEqual({ name: 'AGENTPLANE_ATTACHMENT_BUCKET', value: 'b' });
    const secretKeyRef = { name: 'bxr-0123456789ab-3', key: name, optional: true };
    expect(env).toContainEqual({ name, valueFrom: { secretKeyRef } });
    expect(job.spec.template.spec.containers[0]?.env?.map((one) => one.name)).not.toContain(name);
  });
  it('holds its credentials in an immutable Secret only', () => {
    expect(secret.immutable).toBe(true);
    expect(Object.keys(secret.data ?? {})).toEqual(['database_uri', 'access_key_id']);
    expect(JSON.stringify(job)).not.toContain('postgres://');
  });
});
