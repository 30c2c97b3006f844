import { parseImageIndex, pinImage, readImageIndex } from './image-index.js';

const DIGEST = `sha256:${'a'.repeat(64)}`;
const INDEX = new Map([['sample-agent', DIGEST]]);

describe('pinImage', () => {
  it.each([
    ['pins a name of the store', 'sample-agent', `local/sample-agent@${DIGEST}`],
    ['pins a full reference', 'local/sample-agent', `local/sample-agent@${DIGEST}`],
    ['leaves an unknown name', 'unknown', 'local/unknown'],
  ])('%s', (_, uri, expected) => {
    expect(pinImage(uri, INDEX)).toBe(expected);
  });
});

describe('the image index', () => {
  it('reads entries with a digest and skips others', () => {
    const text = JSON.stringify({ images: { 'sample-agent': { digest: DIGEST }, broken: { digest: 'x' } } });
    expect([...parseImageIndex(text)]).toEqual([['sample-agent', DIGEST]]);
  });
  it('refuses a text that is no index', () => {
    expect(() => parseImageIndex('[]')).toThrow('has no images');
  });
  it('reads an empty index without a store', async () => {
    expect((await readImageIndex(undefined)).size).toBe(0);
    expect((await readImageIndex('/nowhere/at/all')).size).toBe(0);
  });
});
