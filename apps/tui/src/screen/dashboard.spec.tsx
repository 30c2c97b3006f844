import { PassThrough } from 'node:stream';
import { render as renderOnTerminal } from 'ink';
import { render } from 'ink-testing-library';
import type { ReactElement } from 'react';
import { REASON, RESOURCES } from '#lib/resources';
import { FakeClock, waitFor } from '#lib/testing';
import { systemClock } from '#lib/time';
import { agent, ready, SCENE, SCENE_NOW } from '../testdata/scene.js';
import { NotedDeeds, StillWorld } from '../testdata/still-world.js';
import { DEPLOYMENTS } from '../views/deployments.js';
import type { Item } from '../world/items.js';
import { Dashboard, type DashboardProps } from './dashboard.js';

type Screen = ReturnType<typeof render> & { readonly deeds: NotedDeeds; readonly world: StillWorld };

const open: Screen[] = [];

function dashboard(parts: Pick<DashboardProps, 'world' | 'clock' | 'deeds'>): ReactElement {
  return <Dashboard {...parts} namespace="ws-default" server="https://here" firstView="deployments" />;
}

/** The dashboard over the scene, 100 columns wide. */
function show(items = SCENE, deeds = new NotedDeeds()): Screen {
  const world = new StillWorld(items);
  const clock = { ...systemClock, now: () => SCENE_NOW };
  const screen = render(dashboard({ world, clock, deeds }));
  const shown = { ...screen, deeds, world };
  open.push(shown);
  return shown;
}

/** Waits until the frame fits; frames come a moment after keys. */
async function shows({ lastFrame }: Screen, wanted: RegExp | string): Promise<void> {
  const fits = (): void => {
    if (typeof wanted === 'string') expect(lastFrame()).toContain(wanted);
    else expect(lastFrame()).toMatch(wanted);
  };
  await waitFor(() => (fits(), true), { what: `a frame with ${wanted}` });
}

/** Presses keys, each of which must change the frame. */
async function type({ stdin, lastFrame }: Screen, ...keys: readonly string[]): Promise<void> {
  await waitFor(() => stdin.listenerCount('readable') > 0, { what: 'Ink to read keys' });
  for (const key of keys) {
    const before = lastFrame();
    stdin.write(key);
    const what = `the frame after the key ${JSON.stringify(key)}`;
    await waitFor(() => lastFrame() !== before, { what });
  }
}

const ENTER = '\r';
const ESCAPE = '\u001b';

describe('Dashboard', () => {
  afterEach(() => {
    for (const screen of open.splice(0)) screen.unmount();
  });

  it('shows what to do while there are no resources', async () => {
    await shows(show({}), 'agentplane deploy sample-agent');
  });

  it('shows deployments with state, revision and age, and what the selected one reports', async () => {
    const screen = show();
    await shows(screen, /weather +Ready +00002 +2h/);
    await type(screen, 'j');
    await shows(screen, /▸ support +CrashLoop/);
    await shows(screen, /OPENAI_API_KEY is not\s+set/);
  });

  it('follows the world', async () => {
    const screen = show();
    await shows(screen, /weather +Ready/);
    const items = screen.world.itemsOf(DEPLOYMENTS.source, 'ws-default');
    items.put(agent('weather', [ready('Unknown', REASON.deploying)]));
    screen.world.changed();
    await shows(screen, /weather +Deploying/);
    items.remove('ws-default/weather');
    screen.world.changed();
    await shows(screen, /deployments +3/);
  });

  it('leads from a deployment to its revisions and back', async () => {
    const screen = show();
    await type(screen, 'G', ENTER);
    await shows(screen, 'deployments › revisions of');
    await type(screen, ESCAPE);
    await shows(screen, /^ deployments +4/m);
    await type(screen, '/weather', ENTER, ENTER);
    await shows(screen, /deployments › revisions of weather +2/);
    await shows(screen, /weather-00002 +Serving +2\/2/);
  });

  it('goes to a view by its name, which Tab completes', async () => {
    const screen = show();
    await type(screen, ':', 'exp', '\t', ENTER);
    await shows(screen, /^ exports +8/m);
    await type(screen, ':', 'nothing', ENTER);
    await shows(screen, 'no view is called nothing');
  });

  it('lists running exports above those that wait, and failed ones next', async () => {
    const screen = show();
    await type(screen, ':bx', ENTER);
    await shows(screen, /▸ +june/);
    const names = [...(screen.lastFrame() ?? '').matchAll(/^..(june|may|april|queued-\d)/gm)].map(
      ([, name]) => name,
    );
    expect(names).toEqual([
      'june',
      'queued-0',
      'queued-1',
      'queued-2',
      'queued-3',
      'queued-4',
      'april',
      'may',
    ]);
  });

  it('filters by text, by field and by what is not', async () => {
    const screen = show();
    await type(screen, '/state=ready', ENTER);
    await shows(screen, /deployments +1 +\/state=ready/);
    await type(screen, ESCAPE, '/!state=ready', ENTER);
    await shows(screen, /deployments +3/);
    await type(screen, ESCAPE, '/zzz');
    await shows(screen, 'nothing matches /zzz');
  });

  it('sorts by a column and turns the order around', async () => {
    const screen = show();
    await type(screen, 'N');
    await shows(screen, /NAME↑/);
    await shows(screen, /archive[^]*weather/);
    await type(screen, 'N');
    await shows(screen, /NAME↓/);
    await shows(screen, /weather[^]*archive/);
  });

  it('asks before it destroys, and does it to marked rows', async () => {
    const screen = show();
    await type(screen, ' ', ' ', '\u0004');
    await shows(screen, 'delete 2 deployments? its revisions, its pods and its database go with it');
    await type(screen, 'n');
    await shows(screen, 'nothing was done');
    expect(screen.deeds.done).toEqual([]);
    await type(screen, '\u0004', 'y');
    await shows(screen, 'archive,support done');
    expect(screen.deeds.done).toEqual(['ctrl-d archive,support']);
  });

  it('says why an action makes no sense for a row', async () => {
    const screen = show();
    await type(screen, 'r');
    await shows(screen, 'cannot restart ws-default/archive: it is suspended: resume it first');
    await type(screen, 'u', 'y');
    await shows(screen, 'archive done');
  });

  it('dims what the account may not do, and refuses it', async () => {
    const deeds = new NotedDeeds();
    deeds.denied = ['delete'];
    const screen = show(SCENE, deeds);
    await type(screen, '\u0004');
    await shows(screen, 'this account may not delete agentdeployments in ws-default');
    await type(screen, '?');
    await shows(screen, /\^d +delete \(not allowed\): /);
    expect(deeds.done).toEqual([]);
  });

  it('asks for the number of pods', async () => {
    const screen = show();
    await type(screen, 's', 'x3', ENTER);
    await shows(screen, 'archive done');
    expect(screen.deeds.done).toEqual(['s archive 3']);
  });

  it('makes its help of the key table, for the view', async () => {
    const screen = show();
    await type(screen, '?');
    await shows(screen, /z +suspend: end its pods/);
    await shows(screen, /Shift +sort by N NAME, /);
    await shows(screen, /enter +what the row leads to/);
    await type(screen, ESCAPE);
    await shows(screen, /weather +Ready/);
  });

  it('reads a text, searches in it and goes back', async () => {
    const deeds = new NotedDeeds();
    deeds.texts = { describe: Array.from({ length: 100 }, (_, at) => `line ${at}`) };
    const screen = show(SCENE, deeds);
    await type(screen, 'd');
    await shows(screen, /^line 0$/m);
    await type(screen, '/', 'line 47', ENTER, 'n');
    const lines = (screen.lastFrame() ?? '').match(/^line \d+$/gm) ?? [];
    expect(lines[0]).toBe('line 47');
    await type(screen, ESCAPE);
    await shows(screen, /weather +Ready/);
  });

  it('saves and copies a log as it is filtered, and says where', async () => {
    const deeds = new NotedDeeds();
    deeds.texts = { logs: ['info  began', 'error kaput', 'info  ended'] };
    const screen = show(SCENE, deeds);
    await type(screen, 'G', 'l');
    await shows(screen, 'deployments › logs of ws-default/');
    await shows(screen, 'info  began');
    await type(screen, 'e');
    await shows(screen, /^error kaput$/m);
    await type(screen, 's');
    await shows(screen, /saved to \/here\/logs of/);
    expect(deeds.done.slice(1)).toEqual(['error kaput']);
    await type(screen, 'e', 'c');
    await shows(screen, '3 lines copied');
  });

  it('saves a table with all columns of the rows that the filter lets through', async () => {
    const screen = show();
    await type(screen, '/weather', ENTER, '\u0013');
    await shows(screen, 'saved to /here/deployments');
    const [title, count, heading, ...rows] = screen.deeds.done;
    expect([title, count]).toEqual(['save deployments', 'DEPLOYMENTS 1']);
    expect(heading).toMatch(/^NAME +STATE +REVISION .*IMAGE/);
    expect(rows).toEqual([expect.stringMatching(/^weather +Ready +00002/)]);
  });

  it('shows only rows in a bad state, until Escape', async () => {
    const screen = show();
    await type(screen, '\u001a');
    await shows(screen, /deployments +1 +errors only/);
    await shows(screen, /▸ support/);
    await type(screen, ESCAPE);
    await shows(screen, /^ deployments +4$/m);
  });

  it('leads from an agent to its traces and threads, and takes conditions for traces', async () => {
    const screen = show();
    await type(screen, '/weather', ENTER, 't');
    await shows(screen, 'deployments › traces of weather');
    expect(screen.world.query).toEqual({ project: 'weather' });
    await type(screen, '/eq(status "error")');
    await shows(screen, /position 10: /);
    expect(screen.world.query).toEqual({ project: 'weather' });
    await type(screen, '\u0015', 'eq(status, "error")', ENTER);
    await shows(screen, 'no row meets eq(status, "error")');
    expect(screen.world.query).toEqual({ project: 'weather', filter: 'eq(status, "error")' });
    await type(screen, ESCAPE, ESCAPE, 'm');
    await shows(screen, 'deployments › threads of weather');
    expect(screen.world.query).toEqual({ project: 'weather' });
  });

  it('names a key of a filter that no row has', async () => {
    const screen = show();
    await type(screen, '/projekt=stocks');
    await shows(screen, 'nothing matches /projekt=stocks: no column, field or label is called projekt');
  });

  it('shows a favourite namespace by the first number', async () => {
    const screen = show();
    const workspaces = screen.world.itemsOf({ kind: 'kube', ref: RESOURCES.Workspace }, undefined);
    for (const name of ['aa', 'zz'])
      workspaces.put({ metadata: { name }, status: { namespace: `ws-${name}` } } as unknown as Item);
    screen.deeds.chosen.push('ws-zz');
    await type(screen, '1');
    await shows(screen, /Agentplane +ws-zz/);
    await type(screen, '2');
    await shows(screen, /Agentplane +ws-aa/);
  });

  it('shows all namespaces with their names', async () => {
    const screen = show();
    await type(screen, '0');
    await shows(screen, /NAMESPACE/);
    await shows(screen, 'all namespaces · https://here');
  });

  it('reports that the connection is lost', async () => {
    const screen = show();
    await shows(screen, /weather/);
    screen.world.trouble = 'watch failed, showing the state of 14:10:16 UTC';
    screen.world.changed();
    await shows(screen, 'watch failed, showing the state of 14:10:16 UTC');
  });

  it('writes a frame each second in which something changes, and else nothing', async () => {
    const clock = new FakeClock(SCENE_NOW);
    let isStill = true;
    const terminal = Object.assign(new PassThrough(), { isTTY: true, columns: 100, rows: 24 });
    let written = '';
    terminal.setEncoding('utf8').on('data', (output: string) => (written += output));
    const screen = renderOnTerminal(
      dashboard({
        world: new StillWorld(SCENE),
        clock: {
          now: () => (isStill ? new Date(SCENE_NOW) : clock.now()),
          monotonicMs: () => clock.monotonicMs(),
          after: (ms, callback) => clock.after(ms, callback),
          sleep: (ms, signal) => clock.sleep(ms, signal),
        },
        deeds: new NotedDeeds(),
      }),
      {
        stdout: terminal as unknown as NodeJS.WriteStream,
        stdin: Object.assign(new PassThrough(), {
          isTTY: true,
          setRawMode: () => undefined,
          ref: () => undefined,
          unref: () => undefined,
        }) as unknown as NodeJS.ReadStream,
        alternateScreen: true,
        incrementalRendering: true,
        interactive: true,
        patchConsole: false,
      },
    );
    /** Letters written in one second, whose end draws the screen anew. */
    const second = async (): Promise<number> => {
      const [before, timers] = [written.length, clock.pending];
      await clock.advance(1_000);
      await waitFor(() => clock.pending === timers, { what: 'the timer of the next second' });
      await screen.waitUntilRenderFlush();
      return written.length - before;
    };
    await waitFor(() => written.includes('weather'), { what: 'the first frame' });
    await screen.waitUntilRenderFlush();
    expect([await second(), await second(), await second()]).toEqual([0, 0, 0]);
    isStill = false;
    expect(await second()).toBeGreaterThan(0);
    screen.unmount();
  });
});
