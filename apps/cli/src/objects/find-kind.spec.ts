import { spokenKind } from './find-object.js';

describe('spokenKind', () => {
  it.each([
    ['agents', 'agentdeployments'],
    ['Agent', 'agentdeployments'],
    ['RUNS', 'bulkexportruns'],
    ['deployments', 'agentdeployments'],
    ['deploy', 'agentdeployments'],
    ['deployments.apps', undefined],
    ['pods', undefined],
    ['constructor', undefined],
    ['__proto__', undefined],
  ])('takes %s for %s', (word, kind) => {
    expect(spokenKind(word)).toBe(kind);
  });
});
