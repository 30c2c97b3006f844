import { chosenHeaders, headerChooser } from './caller-fields.js';

describe('headerChooser', () => {
  it.each([
    'langgraph_auth_user',
    'langgraph_auth_user_id',
    'langgraph_auth_permissions',
    'graph_auth_user',
    'checkpoint_id',
    'checkpoint_ns',
    'checkpoint_map',
    '__pregel_resuming',
    'x-agentplane-host',
  ])('keeps the header %s away from graphs, whatever an agent chooses', (name) => {
    for (const includes of [['*'], [name], [`${name.slice(0, 4)}*`]]) {
      const isChosen = headerChooser({ includes, excludes: [] }, () => true);
      expect(chosenHeaders({ [name]: 'forged', 'x-user': 'alice' }, isChosen) ?? {}).not.toHaveProperty(name);
    }
  });

  it('lets the headers through that an agent names', () => {
    const isChosen = headerChooser({ includes: ['x-*', 'cookie'], excludes: ['x-secret'] }, () => true);
    const given = {
      'x-user': 'alice',
      'x-secret': '1',
      cookie: 'a=b',
      authorization: 'Bearer x',
      accept: '*/*',
    };
    expect(chosenHeaders(given, isChosen)).toEqual({ 'x-user': 'alice', cookie: 'a=b' });
  });
});
