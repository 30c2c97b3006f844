import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { openImageStore, type StoredImage } from '#lib/image-store';
import type { Pod } from '#lib/resources';
import { temporaryFolder, testEmbeddedKube } from '#lib/testing';
import { mainOf, PodDesk } from '../testdata/pod-desk.js';

const FIRST = 60_880;
const SECRET = 'KEY=a secret of red';
const isRoot = process.platform === 'linux' && process.getuid?.() === 0;
if (!isRoot)
  process.stderr.write('SKIPPED: users of their own for pods need root; run this as root on Linux\n');

(isRoot ? describe : describe.skip)('image of a workspace on a node that is root', () => {
  const server = testEmbeddedKube();
  const folder = temporaryFolder();
  const images = join(folder, 'images');
  const source = join(folder, 'source');
  let desk: PodDesk;
  let image: StoredImage;

  beforeAll(async () => {
    chmodSync(folder, 0o711);
    mkdirSync(source);
    writeFileSync(join(source, 'langgraph.json'), '{"graphs": {"agent": "./graph.js:graph"}}');
    writeFileSync(join(source, 'graph.js'), 'export {}');
    writeFileSync(join(source, 'inside.txt'), SECRET);
    const store = openImageStore({ folder: images, installation: join(folder, 'installation') });
    image = await store.import('agent', source, { namespaces: ['red', 'both'] });
    chmodSync(images, 0o711); // as the supervisor leaves it
    const users = { ranges: [{ first: FIRST, last: FIRST + 9 }], programs: [] };
    desk = new PodDesk(server.kubeconfigPath, folder, { users, images: store });
    await desk.open('red', 'both', 'blue');
  });
  afterAll(() => desk.close());

  /** Output of a pod that runs the image; its folder first. */
  async function run(namespace: string, isAccountMounted = false): Promise<string[]> {
    const command = ['sh', '-c', 'exec >"$TERMINATION_MESSAGE_PATH" 2>&1; pwd; cat inside.txt'];
    const spec = { automountServiceAccountToken: isAccountMounted };
    const pod = await desk.run(namespace, { command, image: image.reference }, spec);
    const over = await desk.until(pod, 'to end', (now) => mainOf(now)?.state?.terminated !== undefined);
    await desk.remove(pod);
    return (mainOf(over)?.state?.terminated?.message ?? '').split('\n');
  }

  it('opens to pods of its workspaces alone, also by its path', async () => {
    const ran = [await run('red'), await run('red', true), await run('both')];
    expect(ran.map(([, text]) => text)).toEqual([SECRET, SECRET, SECRET]);
    const kept = join(images, 'closed', image.digest.replace(':', '-'));
    const paths = [kept, ...ran.map(([path = '']) => path)];
    // neither the files nor whether there are any
    const lines = paths.flatMap((path) => [`cat ${path}/inside.txt`, `ls -d ${path}`, `ls -d ${path}-none`]);
    const text = await desk.shell('blue', lines.join('; '));
    expect(text.match(/Permission denied/g)).toHaveLength(lines.length);
    expect(text).not.toContain(SECRET);
    expect(new Set(paths).size).toBe(4);
  });

  it('gives other workspaces the answer of an image that does not exist', async () => {
    const missing = `local/agent@sha256:${'0'.repeat(64)}`;
    const answers: string[] = [];
    for (const reference of [image.reference, missing]) {
      const pod: Pod = await desk.run('blue', { image: reference });
      const now = await desk.until(
        pod,
        'to wait',
        (one) => mainOf(one)?.state?.waiting?.reason === 'ErrImageNeverPull',
      );
      await desk.remove(pod);
      answers.push(JSON.stringify(mainOf(now)?.state).replaceAll(reference, 'REFERENCE'));
    }
    expect(answers[0]).toMatch(/REFERENCE.* does not exist on this machine/);
    expect(answers[0]).toBe(answers[1]);
  });
});
