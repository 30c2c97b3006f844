import { describe, expect, it } from '@jest/globals';
import { parsePodPlacement } from './pod-placement.js';

describe('parsePodPlacement', () => {
  it('leaves out what is empty or was taken away', () => {
    const text = JSON.stringify({
      ...{ affinity: null, nodeSelector: {}, tolerations: [], priorityClassName: '' },
      labels: { team: 'a' },
    });
    expect(parsePodPlacement(text)).toEqual({ labels: { team: 'a' } });
  });

  it.each([
    ['[]', 'must be a JSON object'],
    ['{"size":1}', /^must have only labels, .*, but has size$/],
    ['{"tolerations":{}}', 'has a tolerations of another kind'],
  ])('refuses %s', (text, message) => {
    expect(() => parsePodPlacement(text)).toThrow(message);
  });
});
