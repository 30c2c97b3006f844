import { DESCRIBED_ROUTES } from './description/described-routes.js';
import { disabledBy } from './route-access.js';

const ALL = new Set(['assistants', 'threads', 'runs', 'store', 'meta', 'a2a', 'mcp', 'agui', 'ui'] as const);

describe('a group of routes', () => {
  it('has every route but the probe', () => {
    const left = Object.keys(DESCRIBED_ROUTES).filter((name) => disabledBy(name, ALL) === undefined);
    expect(left).toEqual(['GET /ok']);
  });

  it.each([
    ['threads', 'POST /threads'],
    ['threads', 'GET /threads/:thread_id/stream'],
    ['threads', 'POST /threads/:thread_id/state'],
    ['runs', 'POST /threads/:thread_id/runs/stream'],
    ['runs', 'POST /threads/:thread_id/commands'],
    ['runs', 'POST /threads/:thread_id/stream/events'],
    ['runs', 'POST /runs/crons/search'],
    ['a2a', 'GET /.well-known/agent-card.json'],
    ['agui', 'POST /ag-ui/:assistant_id'],
  ] as const)('named %s has %s', (group, name) => {
    expect(disabledBy(name, new Set([group]))).toBe(group);
    const others = new Set([...ALL].filter((other) => other !== group));
    expect(disabledBy(name, others)).toBeUndefined();
  });
});
