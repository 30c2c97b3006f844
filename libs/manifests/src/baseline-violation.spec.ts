import { NAMESPACES, PODS, type ResourceSpec, SERVICE_ACCOUNTS } from '#lib/resources';
import { hasRealKubernetes, testApiServer, testKubeClient } from '#lib/testing';
import { findBaselineViolation } from './baseline-violation.js';

type Security = Readonly<Record<string, unknown>>;
const container = (securityContext: Security) => ({ name: 'beside', image: 'i', securityContext });
const sidecar = (securityContext: Security): ResourceSpec => ({ sidecars: [container(securityContext)] });
const ANNOTATION = 'container.apparmor.security.beta.kubernetes.io/beside';

/** The field that is found; none where the standard allows the spec. */
const TABLE: readonly (readonly [string, ResourceSpec, string?])[] = [
  ['nothing', { sidecars: [{ name: 'beside', image: 'i' }] }],
  ['privileged', sidecar({ privileged: true }), 'sidecars[beside].securityContext.privileged'],
  ['no privileges', sidecar({ privileged: false, runAsUser: 0, allowPrivilegeEscalation: true })],
  [
    'a capability of administrators',
    sidecar({ capabilities: { add: ['CHOWN', 'SYS_ADMIN'] } }),
    'sidecars[beside].securityContext.capabilities.add',
  ],
  [
    'all capabilities',
    sidecar({ capabilities: { add: ['ALL'] } }),
    'sidecars[beside].securityContext.capabilities.add',
  ],
  ['capabilities of a container', sidecar({ capabilities: { add: ['CHOWN', 'KILL'], drop: ['ALL'] } })],
  [
    'an unconfined seccomp profile',
    sidecar({ seccompProfile: { type: 'Unconfined' } }),
    'sidecars[beside].securityContext.seccompProfile.type',
  ],
  ['the seccomp profile of the runtime', sidecar({ seccompProfile: { type: 'RuntimeDefault' } })],
  [
    'an unconfined AppArmor profile',
    sidecar({ appArmorProfile: { type: 'Unconfined' } }),
    'sidecars[beside].securityContext.appArmorProfile.type',
  ],
  [
    'another SELinux type',
    sidecar({ seLinuxOptions: { type: 'spc_t' } }),
    'sidecars[beside].securityContext.seLinuxOptions.type',
  ],
  [
    'a SELinux user',
    sidecar({ seLinuxOptions: { user: 'system_u' } }),
    'sidecars[beside].securityContext.seLinuxOptions.user',
  ],
  [
    'a SELinux role',
    sidecar({ seLinuxOptions: { role: 'system_r' } }),
    'sidecars[beside].securityContext.seLinuxOptions.role',
  ],
  ['the SELinux type of containers', sidecar({ seLinuxOptions: { type: 'container_t', level: 's0' } })],
  [
    'a process of a Windows host',
    sidecar({ windowsOptions: { hostProcess: true } }),
    'sidecars[beside].securityContext.windowsOptions.hostProcess',
  ],
  [
    'an init container',
    { initContainers: [container({ privileged: true })] },
    'initContainers[beside].securityContext.privileged',
  ],
  [
    'an unconfined AppArmor profile by an annotation',
    { sidecars: [{ name: 'beside', image: 'i' }], annotations: { [ANNOTATION]: 'unconfined' } },
    `annotations[${ANNOTATION}]`,
  ],
  [
    'the AppArmor profile of the runtime by an annotation',
    { sidecars: [{ name: 'beside', image: 'i' }], annotations: { [ANNOTATION]: 'runtime/default' } },
  ],
];

/** Tests of a row that ends early would be given a callback in place of its last element. */
const ROWS = TABLE.map(([what, spec, field]) => ({ what, spec, field }));

describe('findBaselineViolation', () => {
  it.each(ROWS)('judges $what', ({ spec, field }) => {
    expect(findBaselineViolation(spec)?.field).toBe(field);
  });

  it('names what it found', () => {
    expect(findBaselineViolation(sidecar({ capabilities: { add: ['SYS_ADMIN'] } }))?.value).toBe(
      '["SYS_ADMIN"]',
    );
  });
});

(hasRealKubernetes ? describe : describe.skip)('the admission of a real API server', () => {
  const server = testApiServer();
  const client = testKubeClient(server);

  beforeAll(async () => {
    const labels = { 'pod-security.kubernetes.io/enforce': 'baseline' };
    await client.create(NAMESPACES, { metadata: { name: 'ws-x', labels } });
    // a controller manager would
    await client.create(SERVICE_ACCOUNTS, { metadata: { namespace: 'ws-x', name: 'default' } });
  });

  it.each(ROWS)('agrees on $what', async ({ spec, field }) => {
    const { initContainers, sidecars, annotations = {} } = spec;
    const pod = {
      metadata: { namespace: 'ws-x', generateName: 'pod-', annotations },
      spec: {
        ...(initContainers ? { initContainers } : {}),
        containers: sidecars ?? [{ name: 'main', image: 'i' }],
      },
    };
    const made = client.create(PODS, pod as never).then(
      () => 'admitted',
      (error: unknown) => String(error),
    );
    // this server allows no privileged pods in any namespace
    const refused = /violates PodSecurity "baseline|disallowed by cluster policy/;
    expect(await made).toMatch(field === undefined ? /^admitted$/ : refused);
  });
});
