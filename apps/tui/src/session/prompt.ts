import { findView, VIEWS } from '../views/all-views.js';
import {
  type History,
  newFrame,
  newPane,
  newSession,
  type Pressed,
  type Session,
  withoutOverlay,
} from './session.js';

const QUIT = ['q', 'q!', 'quit', 'exit'];
const COMMANDS = ['help', 'pulse', 'quit'];

/** Completions of a text in the prompt, the likeliest first; whole texts. */
export function completions(text: string, namespaces: readonly string[]): readonly string[] {
  const [word = '', ...rest] = text.split(' ');
  if (rest.length === 0) {
    const names = [...VIEWS.map(({ name }) => name), ...COMMANDS];
    const aliases = VIEWS.flatMap((view) => view.aliases);
    const found = [...names, ...aliases].filter((name) => name.startsWith(word) && name !== word);
    return [...new Set(found)].slice(0, 8);
  }
  const begun = rest.at(-1) ?? '';
  return ['all', ...namespaces]
    .filter((name) => name.startsWith(begun) && name !== begun)
    .map((name) => `${word} ${name}`)
    .slice(0, 8);
}

/** True when a text is complete; for an incomplete one Enter takes the first completion. */
export function isCommand(text: string): boolean {
  const [word = ''] = text.trim().toLowerCase().split(/\s+/);
  return word === '' || [...QUIT, ...COMMANDS, 'pulses'].includes(word) || findView(word) !== undefined;
}

/** Carries out `VIEW [NAMESPACE]`, `ns NAMESPACE`, `help`, `pulse` or `q`. */
export function obey(session: Session, command: string): Pressed {
  const closed = withoutOverlay(session);
  const [word = '', wanted] = command.trim().toLowerCase().split(/\s+/);
  if (word === '') return { session: closed };
  if (QUIT.includes(word)) return { session: closed, effect: { kind: 'quit' } };
  if (word === 'help') return { session: { ...closed, overlay: { kind: 'help', top: 0 } } };
  if (word === 'pulse' || word === 'pulses')
    return { session: { ...closed, overlay: newPane('pulse', '', 'pulse') } };
  const namespace = wanted === undefined ? session.namespace : wanted === 'all' ? undefined : wanted;
  const view = findView(word);
  if (view === undefined)
    return {
      session: {
        ...closed,
        notice: { text: `no view is called ${word}: Tab completes, ? lists them`, isProblem: true },
      },
    };
  const isNamespace = view.name === 'workspaces' && wanted !== undefined;
  if (isNamespace) return { session: switchNamespace(closed, namespace) };
  const history = visited(session, view.name, namespace);
  return { session: { ...newSession(view.name, namespace), isWide: session.isWide, history } };
}

/** Views that are remembered. */
const MOST_PLACES = 30;

function historyOf({ history, stack: [{ view }], namespace }: Session): History {
  return history ?? { places: [{ view, namespace }], at: 0 };
}

/** The history after another view is gone to; what was forward of the present one is forgotten. */
function visited(session: Session, view: string, namespace: string | undefined): History {
  const { places, at } = historyOf(session);
  const kept = [...places.slice(0, at + 1), { view, namespace }].slice(-MOST_PLACES);
  return { places: kept, at: kept.length - 1 };
}

function goTo(session: Session, history: History): Session {
  const place = history.places[history.at];
  return place ? { ...newSession(place.view, place.namespace), isWide: session.isWide, history } : session;
}

/** The session at the view before the present one, or after it; the same at the ends. */
export function travel(session: Session, step: 1 | -1): Session {
  const { places, at } = historyOf(session);
  return goTo(session, { places, at: at + step });
}

/** The session at the view that was gone to last, so that the same key comes back. */
export function swap(session: Session): Session {
  const { places, at } = historyOf(session);
  const last = places[at - 1];
  return last ? goTo(session, visited(session, last.view, last.namespace)) : session;
}

/** The same view in another namespace, or in all; the tables below belonged to the former one. */
export function switchNamespace(session: Session, namespace: string | undefined): Session {
  const [first] = session.stack;
  const view = first.view === 'workspaces' ? 'deployments' : first.view;
  return { ...session, namespace, stack: [newFrame(view)] };
}
