import { render } from 'ink';
import { createElement } from 'react';
import { flag, integer, loadConfig, text } from '#lib/config';
import { RESOURCES } from '#lib/resources';
import { systemClock } from '#lib/time';
import { Dashboard } from '../screen/dashboard.js';
import { manyRuns, SCENE, SCENE_NOW } from './scene.js';
import { NotedDeeds, StillWorld } from './still-world.js';

// The dashboard over the scene, at a time that stands still: what is on a real terminal, for golden files.
const config = loadConfig({
  objects: integer('SCENE_OBJECTS', 'export runs beside the scene', { min: 0, max: 1_000_000, fallback: 0 }),
  changes: integer('SCENE_CHANGES', 'export runs that change each second', {
    min: 0,
    max: 10_000,
    fallback: 0,
  }),
  hasMouse: flag('SCENE_MOUSE', 'take the mouse', { fallback: false }),
  crashesAfterMs: integer('SCENE_CRASHES_AFTER_MS', 'until it throws; 0: never', {
    min: 0,
    max: 60_000,
    fallback: 0,
  }),
  view: text('SCENE_VIEW', 'the first view', { fallback: 'deployments' }),
});
const runs = manyRuns(config.objects);
const world = new StillWorld({ ...SCENE, bulkexportruns: [...(SCENE['bulkexportruns'] ?? []), ...runs] });
const deeds = new NotedDeeds();
deeds.texts = {
  logs: Array.from(
    { length: 60 },
    (_, at) =>
      `12:00:${String(at).padStart(2, '0')}.000 line ${at} of a log that is a good deal longer than sixty columns, 日本語 included`,
  ),
};
// as the program does before its first frame: the terminal would write keys that come with it onto the frame
process.stdin.setRawMode(true);
const screen = render(
  createElement(Dashboard, {
    world,
    clock: { ...systemClock, now: () => SCENE_NOW },
    deeds,
    namespace: 'ws-default',
    server: 'https://127.0.0.1:6443',
    firstView: config.view,
    hasMouse: config.hasMouse,
  }),
  { alternateScreen: true, incrementalRendering: true, maxFps: 60, exitOnCtrlC: false, interactive: true },
);

const items = world.itemsOf({ kind: 'kube', ref: RESOURCES.BulkExportRun }, 'ws-default');
let at = 0;
if (config.changes > 0)
  setInterval(() => {
    for (let count = 0; count < config.changes / 10; count++) {
      const run = runs[at++ % runs.length];
      if (run) items.put({ ...run, metadata: { ...run.metadata, resourceVersion: String(at) } });
    }
    world.changed();
  }, 100);
if (config.crashesAfterMs > 0)
  setTimeout(() => {
    throw new Error('the scene crashed');
  }, config.crashesAfterMs);
await screen.waitUntilExit();
process.exit(0);
