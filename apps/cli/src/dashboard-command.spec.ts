import { dashboardEnvironment } from './dashboard-command.js';

describe('dashboardEnvironment', () => {
  it.each([
    ['no colour when NO_COLOR is set', { NO_COLOR: '1' }, { FORCE_COLOR: '0' }],
    ['colour when NO_COLOR is empty', { NO_COLOR: '' }, {}],
    ['colour when it is asked for all the same', { NO_COLOR: '1', FORCE_COLOR: '3' }, { FORCE_COLOR: '3' }],
  ])('asks for %s', (_what, own, expected) => {
    expect(dashboardEnvironment(own, { kubeconfig: '/k' })).toEqual({ ...expected, KUBECONFIG: '/k' });
  });

  it('hands on what to show', () => {
    const environment = dashboardEnvironment({}, { kubeconfig: '/k', namespace: 'ws', allNamespaces: true });
    expect(environment).toMatchObject({ AGENTPLANE_NAMESPACE: 'ws', AGENTPLANE_ALL_NAMESPACES: 'true' });
    const printed = dashboardEnvironment({}, { kubeconfig: '/k', view: 'pods', once: true, linear: true });
    const expected = { AGENTPLANE_VIEW: 'pods', AGENTPLANE_ONCE: 'true', AGENTPLANE_LINEAR: 'true' };
    expect(printed).toMatchObject(expected);
  });
});
