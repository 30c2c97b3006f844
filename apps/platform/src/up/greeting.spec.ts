import { execFileSync } from 'node:child_process';
import { shellWord } from '#lib/command-line';
import { renderGreeting } from './up-command.js';

const CREDENTIALS = {
  restUrl: 'http://127.0.0.1:8470',
  apiKey: 'apk_key',
  tenantId: 'tenant',
  operatorKey: 'apo_secret',
  kubeconfig: '/home/me/agentplane/.agentplane/kubeconfig',
  metrics: {},
  objectStore: {
    endpoint: 'http://127.0.0.1:1',
    region: 'us-east-1',
    bucket: 'agentplane',
    accessKeyId: 'id',
    secretAccessKey: 'secret',
  },
};
const PLACES = {
  dataFolder: '/home/me/agentplane/.agentplane',
  installation: '/home/me/agentplane',
  here: '/home/me/agentplane',
  tookMs: 4321,
};

describe('renderGreeting', () => {
  it('fits 15 lines and shows no secrets of the store', () => {
    const text = renderGreeting(CREDENTIALS, PLACES);
    expect(text).toContain('kubectl apply -f examples/deployment.yaml');
    expect(text).toMatch(/npx agentplane dashboard$/m);
    expect(text).toContain('console     http://127.0.0.1:8470/console');
    expect(text.trimEnd().split('\n').length).toBeLessThan(15);
    expect(text.trimEnd().split('\n').at(-1)).toBe('Ready in 4.3 s. Ctrl-C stops everything.');
    expect(text).not.toContain('secret');
  });

  it('names what tenants keep from being prepared, in a line of its own that a terminal only shows', () => {
    const troubles = ['Secret ws-default/x failed: \u001b[2Jbad\nReady in 0 s'];
    expect(renderGreeting(CREDENTIALS, { ...PLACES, troubles })).toContain(
      '\n  Not prepared: Secret ws-default/x failed: \\u001b[2Jbad Ready in 0 s\n',
    );
  });

  it('says what is open on this machine, in one line', () => {
    const text = renderGreeting(CREDENTIALS, { ...PLACES, warnings: ['agents share a user: use a cluster'] });
    expect(text).toContain('\n\n  Note: agents share a user: use a cluster\n\n  Try next');
  });

  it('names keys of a lost credentials.json, and how to revoke them', () => {
    const olderKeys = [{ id: '3f6C2a7eQw01', createdAt: '2026-11-21T10:00:00.000Z' }];
    const text = renderGreeting(CREDENTIALS, { ...PLACES, olderKeys });
    expect(text).toMatch(/Key 3f6C2a7eQw01 of 2026-11-21, .* still works/);
    expect(text).toMatch(/^ {4}npx agentplane keys revoke 3f6C2a7eQw01$/m);
  });

  it('names commands that work from another folder', () => {
    const text = renderGreeting(CREDENTIALS, { ...PLACES, here: '/home/me' });
    expect(text).toContain('kubectl apply -f agentplane/examples/deployment.yaml');
    expect(text).toContain(
      'node agentplane/bin/agentplane.js dashboard --data /home/me/agentplane/.agentplane',
    );
  });

  it('quotes words that a shell would split', () => {
    const dataFolder = '/home/me/my data';
    const kubeconfig = `${dataFolder}/kubeconfig`;
    const text = renderGreeting({ ...CREDENTIALS, kubeconfig }, { ...PLACES, dataFolder });
    expect(text).toContain(`export KUBECONFIG='/home/me/my data/kubeconfig'`);
    expect(text).toContain(`dashboard --data '/home/me/my data'`);
  });
});

describe('shellWord', () => {
  it.each(['plain/path-1.0', 'with space', `it's "mine"`, '$HOME `ls` \\n', 'ünïcode', ''])(
    'gives a shell back %j',
    (text) => {
      expect(execFileSync('sh', ['-c', `printf %s ${shellWord(text)}`], { encoding: 'utf8' })).toBe(text);
    },
  );
});
