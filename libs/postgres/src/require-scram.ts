import type pg from 'pg';

/** The login that the server must perform before anything else is believed. */
export type RequiredLogin = 'scram-sha-256';

/**
 * Method by which the driver hands on messages of the server and events of its socket; its types leave this
 * out.
 */
interface Emitting {
  emit(event: string | symbol, ...given: unknown[]): boolean;
  readonly stream: { destroy(error: Error): void };
}

/**
 * Events that are allowed on a connection whose server has not proved yet that it knows the password's
 * verifier.
 */
const BEFORE_PROOF: ReadonlySet<string | symbol> = new Set([
  'connect',
  'sslconnect',
  'error',
  'end',
  'newListener',
  'removeListener',
  'message',
  'notice',
  'authenticationSASL',
  'authenticationSASLContinue',
  'authenticationSASLFinal',
]);

const FOUND: Readonly<Record<string, string>> = {
  authenticationCleartextPassword: 'it asked for the password in clear',
  authenticationMD5Password: 'it asked for an MD5 hash of the password',
  authenticationOk: 'it asked for no proof of the password',
};

/**
 * The parameter `require_auth` of a connection URI, named and meant as in libpq, of which one value is known.
 * @throws Error for other values
 */
export function requiredLogin(uri: string | undefined): RequiredLogin | undefined {
  const [, query = ''] = uri?.split('#')[0]?.split(/\?(.*)/s) ?? [];
  const given = new URLSearchParams(query).getAll('require_auth');
  if (given.length === 0) return undefined;
  if (given.some((value) => value !== 'scram-sha-256'))
    throw new Error(
      `reading the database URI failed: require_auth is ${JSON.stringify(given.join(','))}; use scram-sha-256 or leave it out`,
    );
  return 'scram-sha-256';
}

/**
 * Ends a connection whose server does anything but log in by SCRAM, before the password or a statement is
 * sent. SCRAM proves the server as well: only one that holds the verifier of the password can sign the end of
 * the exchange, which the driver checks. Otherwise a program that takes the server's port while it restarts
 * could simply ask for the password.
 */
export function requireScram(connection: pg.Connection): void {
  const guarded = connection as pg.Connection & Emitting;
  const emit: Emitting['emit'] = connection.emit.bind(connection);
  let state: 'unproved' | 'proved' | 'broken' = 'unproved';
  guarded.emit = (event: string | symbol, ...given: unknown[]) => {
    if (state === 'proved' || event === 'end') return emit(event, ...given);
    if (event === 'error') {
      state = 'broken';
      return emit(event, loginFailure(given[0]));
    }
    if (state === 'broken') return false;
    if (event === 'errorMessage') {
      state = 'broken';
      guarded.stream.destroy(unprovedRefusal(given[0]));
      return false;
    }
    if (!BEFORE_PROOF.has(event)) {
      state = 'broken';
      guarded.stream.destroy(refusal(String(event)));
      return false;
    }
    const isHeard = emit(event, ...given);
    // the driver checks the signature within the event and reports a wrong one by `error`
    if (event === 'authenticationSASLFinal' && !isBroken(state)) state = 'proved';
    return isHeard;
  };
}

/** Apart, since the compiler does not see that `emit` may have changed the state. */
function isBroken(state: string): boolean {
  return state === 'broken';
}

/** An unexpected message makes the driver throw a TypeError, which elsewhere is a mistake of the caller. */
function loginFailure(error: unknown): unknown {
  return error instanceof TypeError ? new Error('the login by SCRAM failed', { cause: error }) : error;
}

/**
 * Error for a refusal before the proof: any program on the port may send an error, and only a server that
 * proved itself is believed.
 */
function unprovedRefusal(error: unknown): Error {
  const said = error instanceof Error ? error.message : 'no reason';
  const code = error instanceof Error && 'code' in error ? String(error.code) : undefined;
  const refused = new Error(
    `the server refused the login: ${said}${code === undefined ? '' : ` (${code})`}; correct role, password and database, or end the program that holds the port of the database`,
  );
  return Object.assign(refused, { code });
}

function refusal(event: string): Error {
  const found = FOUND[event] ?? `it sent ${event} before any login`;
  return new Error(
    `the server did not log in by SCRAM as require_auth demands: ${found}; nothing secret was sent, another program may hold the port of the database`,
  );
}
