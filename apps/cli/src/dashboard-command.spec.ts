import { dashboardEnvironment } from './dashboard-command.js';

describe('dashboardEnvironment', () => {
  it.each([
    ['no colour when NO_COLOR is set', { NO_COLOR: '1' }, { FORCE_COLOR: '0' }],
    ['colour when NO_COLOR is empty', { NO_COLOR: '' }, {}],
    ['colour when it is asked for all the same', { NO_COLOR: '1', FORCE_COLOR: '3' }, { FORCE_COLOR: '3' }],
  ])('asks for %s', (_what, own, expected) => {
    const environment = dashboardEnvironment({ ...own, NODE_ENV: 'development' }, { kubeconfig: '/k' });
    expect(environment).toEqual({ ...expected, KUBECONFIG: '/k', NODE_ENV: 'production' });
  });

  it('leaves the key out of the environment', () => {
    const rest = { url: 'http://127.0.0.1:1', key: 'secret' };
    const environment = dashboardEnvironment({}, { kubeconfig: '/k', rest });
    expect(environment).toMatchObject({ AGENTPLANE_REST_URL: rest.url, AGENTPLANE_REST_KEY_FD: '3' });
    expect(JSON.stringify(environment)).not.toContain('secret');
  });

  it('hands on what to show', () => {
    const environment = dashboardEnvironment({}, { kubeconfig: '/k', namespace: 'ws', allNamespaces: true });
    expect(environment).toMatchObject({ AGENTPLANE_NAMESPACE: 'ws', AGENTPLANE_ALL_NAMESPACES: 'true' });
    const printed = dashboardEnvironment({}, { kubeconfig: '/k', view: 'pods', once: true, linear: true });
    const expected = { AGENTPLANE_VIEW: 'pods', AGENTPLANE_ONCE: 'true', AGENTPLANE_LINEAR: 'true' };
    expect(printed).toMatchObject(expected);
  });
});
