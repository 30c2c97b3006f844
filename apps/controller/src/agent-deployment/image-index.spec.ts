import { parseImageIndex, pinImage, readImageIndex } from './image-index.js';

const DIGEST = `sha256:${'a'.repeat(64)}`;
const INDEX = new Map([['sample-agent', DIGEST]]);

describe('pinImage', () => {
  it.each([
    ['pins a name of the store', 'internal_image', 'sample-agent', `local/sample-agent@${DIGEST}`],
    ['understands a full reference', 'internal_image', 'local/sample-agent', `local/sample-agent@${DIGEST}`],
    ['leaves an unknown name', 'internal_image', 'nobody', 'local/nobody'],
    ['leaves images of other registries', 'external_image', 'sample-agent', 'sample-agent'],
  ])('%s', (_, source, uri, expected) => {
    expect(pinImage(source, uri, INDEX)).toBe(expected);
  });
});

describe('the image index', () => {
  it('takes entries with a digest and leaves out others', () => {
    const text = JSON.stringify({ images: { 'sample-agent': { digest: DIGEST }, broken: { digest: 'x' } } });
    expect([...parseImageIndex(text)]).toEqual([['sample-agent', DIGEST]]);
  });
  it('refuses what is no index', () => {
    expect(() => parseImageIndex('[]')).toThrow('has no images');
  });
  it('is empty without a store', async () => {
    expect((await readImageIndex(undefined)).size).toBe(0);
    expect((await readImageIndex('/nowhere/at/all')).size).toBe(0);
  });
});
