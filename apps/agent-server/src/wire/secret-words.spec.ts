import { SecretWords } from './secret-words.js';

describe('SecretWords', () => {
  const words = new SecretWords(['postgres://agent:p%40ss-word@db:5432/agent', 'lsv2_key', undefined, 'ab']);

  it.each([
    ['a whole URI', 'no postgres://agent:p%40ss-word@db:5432/agent!', 'no [hidden]!'],
    ['its password, as it stands in the URI', 'tried p%40ss-word', 'tried [hidden]'],
    ['its password, decoded', 'tried p@ss-word twice: p@ss-word', 'tried [hidden] twice: [hidden]'],
    ['a key', 'Bearer lsv2_key', 'Bearer [hidden]'],
    ['nothing else', 'ab agent db:5432', 'ab agent db:5432'],
  ])('hides %s', (_title, text, shown) => {
    expect(words.hide(text)).toBe(shown);
  });
});
