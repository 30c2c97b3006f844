import { VIEWS } from '../views/all-views.js';
import { PANE_KEYS } from './pane-keys.js';
import { paste, press } from './press.js';
import { completions } from './prompt.js';
import { type Facts, newSession, type Pressed, type Session, topFrame } from './session.js';
import { sortKeysOf, TABLE_KEYS } from './table-keys.js';

/** Three rows of `ws`. */
const KEYS = ['ws/a', 'ws/b', 'ws/c'];
const FACTS: Facts = {
  size: KEYS.length,
  keyAt: (index) => KEYS[index],
  indexOf: (key) => KEYS.indexOf(key),
  rowAtLine: () => undefined,
  page: 10,
  columns: 4,
  sortKeys: new Map([['N', 'NAME']]),
  stepOf: () => undefined,
  addressOf: (key) => `http://${key}`,
  refusalOf: () => undefined,
  namespaces: ['ws-one', 'ws-two'],
  lines: 100,
  found: [5, 50],
};

function pressAll(session: Session, keys: readonly string[], facts = FACTS): Pressed {
  let pressed: Pressed = { session };
  for (const key of keys) pressed = press(pressed.session, key, facts);
  return pressed;
}

const start = newSession('deployments', 'ws');

describe('press', () => {
  it.each([
    [['j'], 'ws/b'],
    [['j', 'j', 'j', 'j'], 'ws/c'],
    [['G', 'k'], 'ws/b'],
    [['pagedown'], 'ws/c'],
    [['G', 'g'], 'ws/a'],
  ])('moves by %j to %s', (keys, expected) => {
    expect(topFrame(pressAll(start, keys).session).cursor.key).toBe(expected);
  });

  it('stays at its place when the selected row has gone', () => {
    const { session } = pressAll(start, ['j']);
    const fewer = {
      ...FACTS,
      size: 2,
      keyAt: (at: number) => ['ws/a', 'ws/c'][at],
      indexOf: (key: string) => ['ws/a', 'ws/c'].indexOf(key),
    };
    const { effect } = pressAll(session, ['e'], fewer);
    expect(effect).toEqual({ kind: 'edit', key: 'ws/c' });
  });

  it('quits by Ctrl-C wherever one is', () => {
    for (const keys of [[], [':'], ['/'], ['?'], ['d'], ['d', '/'], ['s']])
      expect(pressAll(start, [...keys, 'ctrl-c']).effect).toEqual({ kind: 'quit' });
  });

  it('acts on no row when there is none', () => {
    const none = { ...FACTS, size: 0, keyAt: () => undefined, indexOf: () => -1 };
    for (const key of [...TABLE_KEYS.flatMap(({ keys }) => keys), 'ctrl-d', 's', 'r']) {
      const { effect, session } = pressAll(start, [key], none);
      if (key !== 'q' && key !== 'ctrl-c') expect(effect).toBeUndefined();
      expect(session.overlay?.kind).not.toBe('confirm');
    }
  });

  it('switches view and namespace by the prompt', () => {
    const { session } = pressAll(start, [':', ...'exports all', 'enter']);
    expect([topFrame(session).view, session.namespace]).toEqual(['exports', undefined]);
    const other = pressAll(start, [':', ...'ns ws-two', 'enter']).session;
    expect([topFrame(other).view, other.namespace]).toEqual(['deployments', 'ws-two']);
  });

  it('takes the completion that is offered for a word that is none', () => {
    expect(topFrame(pressAll(start, [':', ...'sch', 'enter']).session).view).toBe('schedules');
    const second = pressAll(start, [':', ...'e', 'down', 'enter']).session;
    expect(topFrame(second).view).toBe('events');
    const unknown = pressAll(start, [':', ...'bogus', 'enter']).session;
    expect(unknown.notice?.text).toContain('no view is called bogus');
  });

  it('edits what is typed as a line editor does', () => {
    const { session } = pressAll(start, [':', ...'exports wss', 'backspace', 'ctrl-w']);
    expect(session.overlay).toMatchObject({ kind: 'prompt', text: 'exports ' });
    expect(pressAll(session, ['ctrl-u']).session.overlay).toMatchObject({ text: '' });
  });

  it('leaves out marked rows that refuse, and does the others', () => {
    const facts = {
      ...FACTS,
      refusalOf: (_action: string, key: string) => (key === 'ws/a' ? 'no' : undefined),
    };
    const { session } = pressAll(start, [' ', ' ', 'ctrl-d'], facts);
    expect(session.overlay).toEqual({ kind: 'confirm', action: 'ctrl-d', keys: ['ws/b'] });
  });

  it('leads from a text to a view, and from the prompt and the help back to the text', () => {
    const reading = pressAll(start, ['d', 'j', 'j']).session;
    expect(topFrame(pressAll(reading, [':', ...'exports', 'enter']).session).view).toBe('exports');
    expect(pressAll(reading, [':', ...'exports', 'enter']).session.overlay).toBeUndefined();
    for (const keys of [
      [':', 'x', 'escape'],
      ['?', 'q'],
      ['?', 'j', ':', 'escape'],
    ])
      expect(pressAll(reading, keys).session.overlay).toEqual(reading.overlay);
    expect(pressAll(start, ['?', ':']).session.overlay).toMatchObject({ kind: 'prompt' });
    expect(pressAll(start, ['?', ':', 'escape']).session.overlay).toBeUndefined();
  });

  it('goes from one found line to the next, and around', () => {
    const reading = pressAll(start, ['d', '/', 'x', 'enter', 'n']).session;
    const topOf = ({ overlay }: Session): unknown =>
      overlay?.kind === 'pane' ? overlay.pane.top : undefined;
    expect(topOf(reading)).toBe(5);
    expect(topOf(pressAll(reading, ['n']).session)).toBe(50);
    expect(topOf(pressAll(reading, ['n', 'n']).session)).toBe(5);
    expect(topOf(pressAll(reading, ['N']).session)).toBe(50);
  });
});

describe('the tables of keys', () => {
  it('gives each key one meaning', () => {
    for (const view of VIEWS) {
      const session = newSession(view.name, 'ws');
      const offered = TABLE_KEYS.filter(({ isOffered }) => isOffered?.(session) ?? true);
      const keys = [...view.actions.map(({ key }) => key), ...offered.flatMap((binding) => binding.keys)];
      expect([view.name, keys.filter((key, at) => keys.indexOf(key) !== at)]).toEqual([view.name, []]);
    }
    const inPanes = PANE_KEYS.flatMap(({ keys }) => keys);
    expect(new Set(inPanes).size).toBe(inPanes.length);
  });

  it('gives each view a name of its own', () => {
    const names = VIEWS.flatMap(({ name, aliases }) => [name, ...aliases]);
    expect(names.filter((name, at) => names.indexOf(name) !== at)).toEqual([]);
  });

  it('gives each column a letter that means nothing else', () => {
    const letters = sortKeysOf(['NAME', 'NODE', 'GOAL', 'N'], ['D']);
    expect([...letters]).toEqual([
      ['N', 'NAME'],
      ['O', 'NODE'],
      ['A', 'GOAL'],
    ]);
  });
});

describe('completions', () => {
  it.each([
    ['dep', ['deployments', 'deployment', 'deploy']],
    ['pods ws-t', ['pods ws-two']],
    ['pods ', ['pods all', 'pods ws-one', 'pods ws-two']],
    ['zzz', []],
  ])('completes %j to %j', (text, expected) => {
    expect(completions(text, FACTS.namespaces)).toEqual(expected);
  });
});

describe('history', () => {
  const views = (keys: readonly string[]): string => {
    const went = pressAll(start, [':', ...'exports', 'enter', ':', ...'pods', 'enter']).session;
    return topFrame(pressAll(went, keys).session).view;
  };

  it.each([
    [['['], 'exports'],
    [['[', '['], 'deployments'],
    [['[', '[', '['], 'deployments'],
    [['[', '[', ']'], 'exports'],
    [[']'], 'pods'],
    [['-'], 'exports'],
    [['-', '-'], 'pods'],
  ])('leads by %j to %s', (keys, view) => {
    expect(views(keys)).toBe(view);
  });
});

describe('keys of an agent', () => {
  it.each<[string, object]>([
    ['c', { kind: 'chat', key: 'ws/a' }],
    ['Y', { kind: 'copy', text: 'http://ws/a' }],
  ])('performs %s', (key, effect) => {
    expect(pressAll(start, [key]).effect).toEqual(effect);
  });

  it('leads by t to its traces', () => {
    expect(topFrame(pressAll(start, ['t']).session)).toMatchObject({
      view: 'traces',
      scope: { field: 'project', value: 'a' },
    });
  });
});

describe('keys of namespaces', () => {
  it.each([
    ['1', 'ws-one'],
    ['2', 'ws-two'],
    ['3', 'ws'],
    ['0', undefined],
  ])('leads by %s to %s', (key, namespace) => {
    expect(pressAll(start, [key]).session.namespace).toBe(namespace);
  });
});

describe('saving', () => {
  it('saves by s where s means nothing else, and by Ctrl-S everywhere', () => {
    const days = pressAll(start, [':', ...'days', 'enter']).session;
    for (const [session, key] of [
      [days, 's'],
      [days, 'ctrl-s'],
      [start, 'ctrl-s'],
      [pressAll(start, ['d']).session, 's'],
    ] as const)
      expect(press(session, key, FACTS).effect).toEqual({ kind: 'save' });
    expect(press(start, 's', FACTS).session.overlay).toMatchObject({ kind: 'answer', action: 's' });
  });
});

describe('paste', () => {
  it.each([[[]], [['?']], [['d']], [['ctrl-d']]])('does nothing to what %j opened', (keys) => {
    const { session } = pressAll(start, keys);
    const { session: after, effect } = paste(session, 'r\ry\rq', FACTS);
    expect([after, effect]).toEqual([{ ...session, notice: expect.anything() }, undefined]);
  });

  it('becomes text of a line that is typed', () => {
    const { session } = pressAll(start, [':']);
    expect(paste(session, 'exports\nq\u0003', FACTS)).toEqual({
      session: { ...session, overlay: { kind: 'prompt', text: 'exports q', choice: 0 } },
    });
    const filtered = paste(pressAll(start, ['/']).session, ' team-a\n', FACTS).session;
    expect(topFrame(filtered).filter).toBe('team-a');
  });
});

describe('an action', () => {
  /** Keys that make no revision, end no pods and change no scale. */
  const HARMLESS = ['open', 'test again', 'pause', 'run now', 'retry', 'shell', 'favourite'];
  const actions = VIEWS.flatMap(({ name, actions: of }) => of.map((action) => [name, action] as const));

  it.each(
    actions.filter(
      ([name, { word }]) => !HARMLESS.includes(word) && name !== 'exports' && name !== 'schedules',
    ),
  )('asks first: %s %j', (_view, { danger, asks }) => {
    expect(danger ?? asks).toBeDefined();
  });
});
