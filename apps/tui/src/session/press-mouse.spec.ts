import { press } from './press.js';
import { type Facts, newSession, paneOf, type Session, topFrame } from './session.js';

const KEYS = Array.from({ length: 20 }, (_, at) => `ws/row-${at}`);
/** The first row is on the fourth line of the terminal. */
const FACTS: Facts = {
  size: KEYS.length,
  keyAt: (index) => KEYS[index],
  indexOf: (key) => KEYS.indexOf(key),
  rowAtLine: (line) => (line >= 4 && line < 4 + KEYS.length ? line - 4 : undefined),
  page: 10,
  columns: 4,
  sortKeys: new Map(),
  addressOf: () => '',
  stepOf: (key) => ({ kind: 'text', text: 'logs', key }),
  refusalOf: () => undefined,
  namespaces: [],
  lines: 100,
  found: [],
};
const start = newSession('deployments', 'ws');

const after = (session: Session, name: string): Session => press(session, name, FACTS).session;

describe('the mouse', () => {
  it('selects the row that is clicked, and nothing beside the rows', () => {
    const clicked = after(start, 'click-9');
    expect(topFrame(clicked).cursor).toEqual({ key: 'ws/row-5', index: 5 });
    for (const line of [1, 3, 40]) expect(after(clicked, `click-${line}`)).toEqual(clicked);
  });

  it('enters a row by a double click', () => {
    const entered = after(start, 'double-6');
    expect(paneOf(entered)).toMatchObject({ text: 'logs', key: 'ws/row-2' });
  });

  it('moves by three with the wheel, in tables and in texts', () => {
    const moved = after(start, 'wheeldown');
    expect(topFrame(moved).cursor.index).toBe(3);
    const opened = press(start, 'enter', FACTS).session;
    const begun = press(opened, 'g', FACTS).session;
    expect(paneOf(after(begun, 'wheeldown'))?.top).toBe(3);
    expect(after(begun, 'click-9')).toEqual(begun);
  });

  it.each([[':'], ['/'], ['ctrl-d']])('changes nothing while %s is answered', (key) => {
    const asked = press(start, key, FACTS).session;
    for (const name of ['wheeldown', 'wheelup', 'click-9', 'double-9'])
      expect(after(asked, name)).toEqual(asked);
  });
});
