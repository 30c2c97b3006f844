import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { AuditLog } from '#lib/audit-log';
import { createLogger } from '#lib/telemetry';
import { temporaryFolder } from '#lib/testing';
import { systemClock } from '#lib/time';
import { testApi } from '../testdata/test-api.js';

const folder = temporaryFolder();
const path = join(folder, 'audit-kubernetes.log');
const log = createLogger('test', 'silent');
const SECRETS = '/api/v1/namespaces/default/secrets';
const MAPS = '/api/v1/namespaces/default/configmaps';
const LEASES = '/apis/coordination.k8s.io/v1/namespaces/default/leases';

describe('the audit log of Kubernetes', () => {
  const api = testApi({ audit: new AuditLog({ path, log, clock: systemClock }) });
  const text = (): string => readFileSync(path, { encoding: 'utf8', flag: 'a+' });
  const recordsOf = (name: string): Record<string, unknown>[] =>
    text()
      .split('\n')
      .filter((line) => line.includes(`"${name}`))
      .map((line) => JSON.parse(line) as Record<string, unknown>);

  it('names who wrote which object, and nothing that is in it', async () => {
    const headers = { 'x-request-id': 'the-request', 'user-agent': 'kubectl/v1' };
    const body = { metadata: { name: 'kept-secret' }, stringData: { a: 'canary-value' } };
    await api.admin.call('POST', SECRETS, { body, headers });
    expect(recordsOf('kept-secret')).toEqual([
      {
        time: expect.stringMatching(/Z$/),
        program: 'kubernetes',
        request: 'the-request',
        actor: { kind: 'kubernetes', user: 'admin', groups: expect.arrayContaining(['system:masters']) },
        action: { verb: 'create', target: 'secrets', namespace: 'default', name: 'kept-secret' },
        source: { address: '127.0.0.1', userAgent: 'kubectl/v1' },
        outcome: { status: 201 },
      },
    ]);
    expect(text()).not.toContain('canary-value');
  });

  it('records updates, deletions, dry runs, refusals and names that the server made', async () => {
    await api.admin.create(MAPS, { metadata: { generateName: 'made-' } });
    expect(recordsOf('made-')[0]).toMatchObject({
      action: { verb: 'create', name: expect.stringMatching(/^made-./) },
    });
    await api.admin.create(`${MAPS}?dryRun=All`, { metadata: { name: 'tried' } });
    expect(recordsOf('tried')[0]).toMatchObject({ action: { isDryRun: true } });
    await api.admin.create(`${MAPS}?dryRun=`, { metadata: { name: 'written-all-the-same' } });
    expect(recordsOf('written-all-the-same')[0]?.['action']).not.toHaveProperty('isDryRun');
    await api.admin.delete(`${MAPS}/absent`);
    expect(recordsOf('absent')[0]).toMatchObject({
      action: { verb: 'delete' },
      outcome: { status: 404, reason: 'NotFound' },
    });
    const headers = { 'impersonate-user': 'poor' };
    await api.admin.call('POST', MAPS, { body: { metadata: { name: 'refused-one' } }, headers });
    await api.admin.call('DELETE', `${MAPS}/refused-one`, { headers });
    expect(recordsOf('refused-one').at(-1)).toMatchObject({
      actor: { user: 'admin', impersonates: 'poor' },
      outcome: { status: 403, reason: 'Forbidden' },
    });
  });

  it('records a request whose body is too large, and answers it', async () => {
    const body = { metadata: { name: 'too-large' }, data: { a: 'x'.repeat(4 << 20) } };
    expect((await api.admin.call('POST', MAPS, { body })).code).toBe(413);
    const found = text()
      .split('\n')
      .find((line) => line.includes('"status":413'));
    expect(JSON.parse(found ?? '{}')).toMatchObject({ source: { address: '127.0.0.1' } });
  });

  it('records the status that a service account of a workspace writes: labels go with it', async () => {
    for (const name of ['default', 'robot'])
      await api.admin.create('/api/v1/namespaces/default/serviceaccounts', { metadata: { name } });
    const rbac = '/apis/rbac.authorization.k8s.io/v1';
    await api.admin.create(`${rbac}/clusterroles`, {
      metadata: { name: 'robot' },
      rules: [{ apiGroups: [''], resources: ['pods/status'], verbs: ['patch'] }],
    });
    await api.admin.create(`${rbac}/clusterrolebindings`, {
      metadata: { name: 'robot' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'robot' },
      subjects: [{ kind: 'ServiceAccount', name: 'robot', namespace: 'default' }],
    });
    const robot = api.client(
      await api.server.kubeconfigFor({ kind: 'service-account', namespace: 'default', name: 'robot' }),
    );
    await api.admin.create('/api/v1/namespaces/default/pods', {
      metadata: { name: 'relabelled' },
      spec: { containers: [{ name: 'main', image: 'x' }] },
    });
    const labels = { app: 'another' };
    const { code } = await robot.merge('/api/v1/namespaces/default/pods/relabelled/status', {
      metadata: { labels },
    });
    expect(code).toBe(200);
    // in the files of its namespace, whatever namespace it writes to
    await robot.merge('/api/v1/namespaces/kube-system/pods/relabelled/status', {});
    const own = readFileSync(join(folder, 'audit-kubernetes', 'default.log'), 'utf8')
      .trim()
      .split('\n');
    expect(own).toHaveLength(2);
    expect(recordsOf('relabelled').every(({ actor }) => (actor as { user: string }).user === 'admin')).toBe(
      true,
    );
    expect(JSON.parse(own[0] ?? '')).toMatchObject({
      actor: { user: 'system:serviceaccount:default:robot' },
      action: { verb: 'patch', target: 'pods/status' },
    });
  });

  it('leaves out reads, leases, events, questions, and the status that programs report', async () => {
    const node = api.client(
      await api.server.kubeconfigFor({
        kind: 'certificate',
        user: 'system:node:n1',
        groups: ['system:nodes'],
      }),
    );
    await node.create('/api/v1/nodes', { metadata: { name: 'n1' } });
    const before = text().length;
    await node.merge('/api/v1/nodes/n1/status', { status: { phase: 'Running' } });
    await api.admin.get(SECRETS);
    await api.admin.create(LEASES, { metadata: { name: 'a-lease' } });
    await api.admin.create('/apis/authorization.k8s.io/v1/selfsubjectaccessreviews', {
      spec: { nonResourceAttributes: { path: '/x', verb: 'get' } },
    });
    await api.admin.create('/api/v1/namespaces/default/events', {
      metadata: { name: 'an-event', namespace: 'default' },
      involvedObject: { namespace: 'default' },
    });
    expect(text().slice(before)).toBe('');
    await api.admin.merge('/api/v1/nodes/n1/status', { status: { phase: 'Pending' } });
    expect(text().slice(before)).toContain('"target":"nodes/status"');
  });
});
