import { render } from 'ink';
import { createElement } from 'react';
import { systemClock } from '#lib/time';
import { Dashboard } from '../screen/dashboard.js';
import { SCENE, SCENE_NOW } from './scene.js';
import { NotedDeeds, StillWorld } from './still-world.js';

// The dashboard over the scene, at a time that stands still: what is on a real terminal, for golden files.
const deeds = new NotedDeeds();
deeds.texts = {
  logs: Array.from(
    { length: 60 },
    (_, at) =>
      `12:00:${String(at).padStart(2, '0')}.000 line ${at} of a log that is a good deal longer than sixty columns, 日本語 included`,
  ),
};
render(
  createElement(Dashboard, {
    world: new StillWorld(SCENE),
    clock: { ...systemClock, now: () => SCENE_NOW },
    deeds,
    namespace: 'ws-default',
    server: 'https://127.0.0.1:6443',
    firstView: 'deployments',
  }),
  { alternateScreen: true, incrementalRendering: true, exitOnCtrlC: false, interactive: true },
);
