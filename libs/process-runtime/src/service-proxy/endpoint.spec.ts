import { describe, expect, it } from '@jest/globals';
import { ANNOTATION, type Pod, type Service } from '#lib/resources';
import { findEndpoints } from './service-proxy.js';

const PORT = { name: 'http', port: 80, targetPort: 8000 };
const SERVICE = {
  metadata: { name: 'a', namespace: 'n' },
  spec: { selector: { app: 'a' }, ports: [PORT] },
} as unknown as Service;

/** A ready pod, and how often its note was read. */
function podOf(note: string): { readonly pod: Pod; readonly reads: { count: number } } {
  const reads = { count: 0 };
  const annotations = {
    get [ANNOTATION.loopbackPorts]() {
      reads.count++;
      return note;
    },
  };
  const pod = {
    metadata: { name: 'p', namespace: 'n', labels: { app: 'a' }, annotations },
    spec: { containers: [] },
    status: { conditions: [{ type: 'Ready', status: 'True' }] },
  } as unknown as Pod;
  return { pod, reads };
}

const find = (...pods: readonly Pod[]) => findEndpoints(SERVICE, PORT, pods, () => true);

describe('findEndpoints', () => {
  it('reads the ports of a pod once, however many requests ask', () => {
    const { pod, reads } = podOf('{"8000":32000}');
    for (let request = 0; request < 5; request++) expect(find(pod)).toEqual([{ pod: 'p', port: 32000 }]);
    expect(reads.count).toBe(1);
  });

  it.each(['null', '{', '"8000"', '{"8000":"32000"}', '{}'])('leaves out a pod with the note %s', (note) => {
    expect(find(podOf(note).pod, podOf('{"8000":32001}').pod)).toEqual([{ pod: 'p', port: 32001 }]);
  });
});
