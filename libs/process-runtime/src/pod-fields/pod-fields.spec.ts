import { describe, expect, it } from '@jest/globals';
import { openapiForGroup, recordAt } from '#lib/kube-semantics';
import type { Pod, PodContainer, PodSpec } from '#lib/resources';
import { POD_FIELDS, type PodSection } from './pod-fields.js';
import { refusalText, refusedFields } from './refused-fields.js';

const USER = { uid: 60_800, gid: 60_800 };
const ROOT = { uid: 0, gid: 0 };
/** Path of each section in a pod. */
const PLACES: Readonly<Record<PodSection, string>> = {
  PodSpec: '',
  PodSecurityContext: 'securityContext',
  PodDNSConfig: 'dnsConfig',
  Volume: 'volumes.0',
  Container: 'containers.0',
  VolumeMount: 'containers.0.volumeMounts.0',
  SecurityContext: 'containers.0.securityContext',
  Capabilities: 'containers.0.securityContext.capabilities',
  SeccompProfile: 'containers.0.securityContext.seccompProfile',
  AppArmorProfile: 'containers.0.securityContext.appArmorProfile',
  ContainerPort: 'containers.0.ports.0',
  Probe: 'containers.0.livenessProbe',
  HTTPGetAction: 'containers.0.livenessProbe.httpGet',
  Lifecycle: 'containers.0.lifecycle',
  ResourceRequirements: 'containers.0.resources',
  EnvVar: 'containers.0.env.0',
  EnvVarSource: 'containers.0.env.0.valueFrom',
};
const SECTIONS = Object.keys(PLACES) as PodSection[];

/** A pod with one value at one place. */
function podWith(place: string, value: unknown): Pod {
  const steps = place.split('.').filter((step) => step !== '');
  const spec = steps.reduceRight<unknown>(
    (inner, step) => (step === '0' ? [inner] : { [step]: inner }),
    value,
  ) as Partial<PodSpec>;
  return { metadata: { name: 'p' }, spec: { containers: [], ...spec } };
}

const SCHEMAS = recordAt(recordAt(openapiForGroup('', 'v1'), 'components'), 'schemas');

const at = (section: PodSection, field: string): string => `${PLACES[section]}.${field}`;
const pathsOf = (pod: Pod, user = USER): string[] => refusedFields(pod, user).map(({ path }) => path);
const containerWith = (more: object): Pod => podWith('containers.0', { name: 'c', ...more });

const REFUSED = SECTIONS.flatMap((section) =>
  Object.entries(POD_FIELDS[section])
    .filter(([, { kind }]) => kind === 'refused')
    .map(([field]) => [section, field] as const),
);

describe('POD_FIELDS', () => {
  it.each(SECTIONS)('decides on every field that Kubernetes knows in %s', (section) => {
    const known = Object.keys(recordAt(recordAt(SCHEMAS, `io.k8s.api.core.v1.${section}`), 'properties'));
    expect(known.length).toBeGreaterThan(1);
    expect(Object.keys(POD_FIELDS[section]).sort()).toEqual(known.sort());
  });

  it.each(REFUSED)('refuses %s.%s with its path, its value and what to do', (section, field) => {
    const value = field === 'runAsNonRoot' ? true : { asked: ['for'] };
    const [found, ...more] = refusedFields(podWith(at(section, field), value), ROOT);
    expect(more).toEqual([]);
    expect(found?.path).toBe(`spec.${at(section, field)}`.replace('..', '.').replaceAll('.0', '[0]'));
    expect(found?.value).toEqual(value);
    expect(found?.instead).not.toBe('');
  });

  it.each(REFUSED.filter(([section, field]) => section !== 'Volume' && field !== 'type'))(
    'accepts %s.%s without a value',
    (section, field) => {
      const rule = POD_FIELDS[section][field];
      const empty = rule?.kind === 'refused' && rule.allows ? [undefined] : [false, 0, '', [], {}];
      for (const value of empty) expect(pathsOf(podWith(at(section, field), value))).toEqual([]);
    },
  );

  it.each<[string, Pod, string]>([
    ['a host path', podWith('volumes.0', { name: 'v', hostPath: { path: '/' } }), 'spec.volumes[0].hostPath'],
    ['an empty volume', podWith('volumes.0', { name: 'v', emptyDir: {} }), 'spec.volumes[0].emptyDir'],
    ['the network of the host', podWith('hostNetwork', true), 'spec.hostNetwork'],
    [
      'privileges of an init container',
      podWith('initContainers.0', { name: 'c', securityContext: { privileged: true } }),
      'spec.initContainers[0].securityContext.privileged',
    ],
    [
      'more capabilities',
      containerWith({ securityContext: { capabilities: { add: ['SYS_ADMIN'], drop: ['ALL'] } } }),
      'spec.containers[0].securityContext.capabilities.add',
    ],
    ['another user', podWith('securityContext', { runAsUser: 0 }), 'spec.securityContext.runAsUser'],
    [
      'a profile of the machine',
      containerWith({ securityContext: { seccompProfile: { type: 'Localhost' } } }),
      'spec.containers[0].securityContext.seccompProfile.type',
    ],
    [
      'a token for another audience',
      podWith('volumes.0', {
        name: 'v',
        projected: { sources: [{ serviceAccountToken: { path: 't', audience: 'vault' } }] },
      }),
      'spec.volumes[0].projected',
    ],
  ])('refuses %s', (_what, pod, path) => {
    expect(pathsOf(pod)).toEqual([path]);
  });

  it('accepts the user that the pod runs as, and refuses a wish not to be root where it would be', () => {
    const wishes = { runAsUser: USER.uid, runAsGroup: USER.gid, runAsNonRoot: true, fsGroup: USER.gid };
    const pod = podWith('securityContext', wishes);
    expect(pathsOf(pod)).toEqual([]);
    expect(pathsOf(pod, ROOT)).toEqual(
      ['runAsUser', 'runAsGroup', 'runAsNonRoot', 'fsGroup'].map((name) => `spec.securityContext.${name}`),
    );
  });

  it('accepts what the platform and API servers write into every pod', () => {
    const container: PodContainer & { readonly lifecycle?: object } = {
      name: 'agent',
      image: 'local/x',
      imagePullPolicy: 'Always',
      ports: [{ name: 'http', containerPort: 8000, protocol: 'TCP' }],
      resources: { requests: { cpu: '1' }, limits: { cpu: '1' } },
      securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
      volumeMounts: [
        { name: 'kube-api-access-x', mountPath: '/var/run/secrets/kubernetes.io/serviceaccount' },
      ],
      terminationMessagePath: '/dev/termination-log',
      lifecycle: { preStop: { sleep: { seconds: 5 } } },
    };
    const token = [
      { serviceAccountToken: { expirationSeconds: 3607, path: 'token' } },
      { configMap: { name: 'kube-root-ca.crt', items: [] } },
      { downwardAPI: { items: [] } },
    ];
    const spec = {
      containers: [container],
      volumes: [{ name: 'kube-api-access-x', projected: { defaultMode: 420, sources: token } }],
      securityContext: { seccompProfile: { type: 'RuntimeDefault' } },
      dnsPolicy: 'ClusterFirst',
      tolerations: [{ operator: 'Exists' }],
      hostNetwork: false,
    } as PodSpec;
    expect(pathsOf({ metadata: { name: 'p' }, spec })).toEqual([]);
  });

  it('accepts volumes that it makes, where processes can have mounts', () => {
    const sources = [{ configMap: { name: 'c' } }, { downwardAPI: { items: [{ path: 'p' }] } }];
    const made = [{ emptyDir: {} }, { configMap: {} }, { secret: {} }, { projected: { sources } }];
    const other = [
      { nfs: { server: 's', path: '/' } },
      { persistentVolumeClaim: { claimName: 'c' } },
      { csi: { driver: 'd' } },
      { downwardAPI: { items: [{ path: 'p', resourceFieldRef: {} }] } },
      { projected: { sources: [{ serviceAccountToken: { path: 't', audience: 'a' } }] } },
    ];
    const judge = (volume: object, hasMounts: boolean): number =>
      refusedFields(podWith('volumes.0', { name: 'v', ...volume }), { ...USER, hasMounts }).length;
    expect(made.map((volume) => judge(volume, true))).toEqual(made.map(() => 0));
    expect(other.map((volume) => judge(volume, true))).toEqual(other.map(() => 1));
    expect([...made, ...other].map((volume) => judge(volume, false))).toEqual(
      [...made, ...other].map(() => 1),
    );
  });

  it('names the first of many fields, cuts long values and counts the rest', () => {
    const ports = Array.from({ length: 7 }, (_, at) => ({ containerPort: at + 1, hostIP: 'x'.repeat(100) }));
    const text = refusalText(refusedFields(containerWith({ ports }), USER));
    expect(text).toMatch(
      /^the process runtime cannot honour spec\.containers\[0\]\.ports\[0\]\.hostIP is "x{59}…: drop it/,
    );
    expect(text).toMatch(/; and 2 more$/);
    expect(text.length).toBeLessThan(1_000);
  });
});
