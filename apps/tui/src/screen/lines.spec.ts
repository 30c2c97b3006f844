import { REASON } from '#lib/resources';
import { FakeClock } from '#lib/testing';
import { agent, ready, SCENE, SCENE_NOW } from '../testdata/scene.js';
import { StillWorld } from '../testdata/still-world.js';
import { DEPLOYMENTS } from '../views/deployments.js';
import { EXPORTS } from '../views/exports.js';
import { followLines } from './follow-lines.js';
import { printOnce } from './print-once.js';

const clock = new FakeClock(SCENE_NOW);

describe('printOnce', () => {
  it('prints each view under its heading, in plain aligned lines', async () => {
    const text = await printOnce(new StillWorld(SCENE), 'ws-default', clock);
    expect(text).toMatch(/^DEPLOYMENTS 4\nNAME +STATE +REVISION +AGE +URL/);
    expect(text).toMatch(/^weather +Ready +00002 +2h +http:/m);
    expect(text).toMatch(/^june +Started +62 % +1\.2M +988 MB/m);
    expect(text).not.toMatch(/[\u001b█▸]/);
  });

  it('prints the views that were asked for, and says that one is empty', async () => {
    const text = await printOnce(new StillWorld(SCENE), 'ws-default', clock, ['schedules', 'pods']);
    expect(text).toMatch(/^SCHEDULES 1\n/);
    expect(text).toMatch(/\n\nPODS: none\n$/);
  });

  it('prints namespaces when all are asked for', async () => {
    const text = await printOnce(new StillWorld(SCENE), undefined, clock, ['deployments']);
    expect(text).toMatch(/^weather +ws-default +Ready/m);
  });
});

describe('followLines', () => {
  it('writes a line for each change of a state, and none for what stays', () => {
    const world = new StillWorld(SCENE);
    const lines: string[] = [];
    const end = followLines(world, [DEPLOYMENTS, EXPORTS], 'ws-default', {
      clock,
      write: (line) => lines.push(line),
    });
    expect(lines).toEqual([]);
    const items = world.itemsOf(DEPLOYMENTS.source, 'ws-default');
    items.put(agent('weather', [ready('False', REASON.crashLoop, 'exit\u001b code 2')]));
    items.put(agent('weather', [ready('False', REASON.crashLoop, 'exit\u001b code 2')]));
    items.remove('ws-default/weather');
    world.trouble = 'watch failed';
    world.changed();
    end();
    items.remove('ws-default/support');
    expect(lines).toEqual([
      '12:00:00 deployments weather: CrashLoop, exit\\u001b code 2\n',
      '12:00:00 deployments weather: deleted\n',
      'watch failed\n',
    ]);
  });
});
