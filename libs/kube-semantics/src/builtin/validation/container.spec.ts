import { describe, expect, it } from '@jest/globals';
import { validatePodSpec } from './workloads.js';

const container = (name: string, image = 'x') => ({ name, image });
const containers = (count: number) => Array.from({ length: count }, (_, at) => container(`c${at}`));

describe('validatePodSpec', () => {
  it('takes as many containers and as long an image as a status can name', () => {
    const spec = { containers: containers(255).concat(container('long', 'i'.repeat(4_096))) };
    expect(validatePodSpec(spec, 'spec')).toEqual([]);
  });

  it.each<[string, object, string, string]>([
    ['containers', { containers: containers(257) }, 'spec.containers', 'Too many: 257'],
    [
      'init containers',
      { containers: containers(1), initContainers: containers(300) },
      'spec.initContainers',
      'Too many: 300',
    ],
    [
      'letters of an image',
      { containers: [container('c', 'i'.repeat(4_097))] },
      'spec.containers[0].image',
      'Too long: may not be more than 4096 bytes',
    ],
  ])('refuses more %s, without the value', (_what, spec, field, message) => {
    const [error, ...more] = validatePodSpec(spec as never, 'spec');
    expect([error?.field, more]).toEqual([field, []]);
    expect(error?.message).toContain(message);
    expect(error?.message.length).toBeLessThan(200);
  });
});
