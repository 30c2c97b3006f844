describe('results', () => {
  it('passes', () => expect(1 + 1).toBe(2));
  it('fails', () => expect(1 + 1).toBe(3));
  it.skip('is skipped', () => undefined);
  it('hangs', () => new Promise(() => undefined), 50);
  it('leaves a rejection to itself', async () => {
    void Promise.reject(new Error('nothing catches it'));
    await new Promise((resolve) => setImmediate(resolve));
  });
  it('expects more than it checks', () => expect.assertions(1));
});

describe('a set-up that fails', () => {
  beforeAll(() => {
    throw new Error('no set-up');
  });
  it('fails with it', () => undefined);
});
