import { spokenKind } from './find-kind.js';

describe('spokenKind', () => {
  it.each([
    ['agents', 'agentdeployments'],
    ['Agent', 'agentdeployments'],
    ['RUNS', 'bulkexportruns'],
    ['pods', undefined],
    ['constructor', undefined],
    ['__proto__', undefined],
  ])('takes %s for %s', (word, kind) => {
    expect(spokenKind(word)).toBe(kind);
  });
});
