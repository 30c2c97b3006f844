import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { Admission, type Place } from '#lib/admission';
import { PublicError } from '#lib/errors';
import type { Clock } from '#lib/time';

declare module 'fastify' {
  interface FastifyRequest {
    /** Set while its body is one of those that are taken at once. */
    bodyTurn: BodyTurn | undefined;
  }
}

/** Smaller bodies cost less than their waiting would. */
const SMALL_BYTES = 64 * 1024;

/** Most bytes counted for one body: a larger one counts no more, since a client may announce any length. */
const MOST_OF_ONE_BYTES = 4 * 1024 * 1024;

/** Time for the body to arrive. A slower client gives up its turn and continues beside the others. */
const ARRIVAL_MS = 1_000;

/**
 * Time for the work of a request, which may wait for the end of a run; afterwards it gives up its turn too.
 */
const WORK_MS = 5_000;

/**
 * Time after which the body of a request whose client has gone is forgotten: work without an answer has no
 * visible end.
 */
const LONGEST_WORK_MS = 600_000;

/**
 * Limit of bodies whose requests continue without a turn, as a multiple of the bytes that have a turn; one
 * caller may hold a single multiple.
 */
const MAX_KEPT = 4;

/**
 * Limit of small bodies of requests in flight, as a multiple of the bytes that have a turn; one caller may
 * hold half of it.
 */
const MAX_SMALL = 16;

/** Bytes that a value takes once it is parsed, although it may be two bytes of text. */
const BYTES_OF_VALUE = 70;

export interface Announced {
  /** Callers take turns; undefined for an unauthenticated request. */
  readonly caller: string | undefined;
  /** The length of the body; undefined: not known. */
  readonly length: number | undefined;
}

export interface Arrived {
  readonly length: number;
  /** Items and members at any depth. */
  readonly values: number;
}

export interface BodyTurn {
  /** The body is here whole: from now on no more is counted. */
  arrived(body: Arrived): void;
  /** The client has gone; the request continues and keeps its body. */
  abandon(): void;
  /** The body has been dealt with; more than once is as good. */
  leave(): void;
}

/**
 * Admits large bodies one after another, as many at a time as the limit holds: hundreds at once would all be
 * parsed before the first is stored, and unread bytes wait at their client. Callers take turns, so that no
 * caller delays the others for longer than one turn, however many bodies wait. Requests that continue without
 * a turn, since they wait for a thread or a worker slot, keep their parsed bodies: the bytes of these are
 * bounded as well.
 */
export class BodyTurns {
  readonly #turns: Admission;
  /** Bytes of bodies that requests hold without a turn, by caller. */
  readonly #kept = new Map<string | undefined, number>();
  readonly #small: Admission;

  constructor(
    private readonly maxBytes: number,
    private readonly clock: Clock,
  ) {
    this.#turns = new Admission({ capacity: maxBytes });
    this.#small = new Admission({
      capacity: MAX_SMALL * maxBytes,
      halves: true,
      refusal: 'Too many requests wait with their bodies; retry when some have ended',
    });
  }

  /** Bytes of the bodies that have a turn. */
  get taken(): number {
    return this.#turns.held;
  }

  /**
   * Waits for the turn of a body.
   * @param gone aborted when its client has gone
   * @throws PublicError `too_many`, `unavailable` when requests without a turn hold too much
   */
  async enter({ caller, length }: Announced, gone: AbortSignal): Promise<BodyTurn | undefined> {
    const bytes = Math.min(length ?? MOST_OF_ONE_BYTES, MOST_OF_ONE_BYTES);
    if (bytes <= SMALL_BYTES) return undefined;
    this.#requireMemory(caller, bytes);
    // the client may have gone: the reader of the body finds that
    const place = await this.#turns.enter(caller, { units: bytes, signal: gone }).catch(() => undefined);
    if (!place) return undefined;
    try {
      this.#requireMemory(caller, bytes);
    } catch (error) {
      place.release();
      throw error;
    }
    return this.#begun(caller, place);
  }

  /**
   * Counts a body that needs no turn while its request is in flight: thousands may wait for one thread.
   * @throws PublicError `too_many`
   */
  admitSmall(caller: string | undefined, body: Arrived): BodyTurn {
    const account = this.#small.open(caller);
    account.hold(weightOf(body));
    let isOver = false;
    let cancel = (): void => undefined;
    const leave = (): void => {
      isOver = true;
      cancel();
      account.keep(0);
    };
    const abandon = (): void => {
      if (!isOver) cancel = this.clock.after(LONGEST_WORK_MS, leave);
    };
    return { arrived: () => undefined, abandon, leave };
  }

  /** @throws PublicError */
  #requireMemory(caller: string | undefined, bytes: number): void {
    const ofCaller = caller === undefined ? 0 : (this.#kept.get(caller) ?? 0);
    if (ofCaller > 0 && ofCaller + bytes > this.maxBytes)
      throw new PublicError(
        'too_many',
        `Requests with ${ofCaller} bytes of yours wait for their turn; retry when some have ended`,
      );
    const all = [...this.#kept.values()].reduce((sum, kept) => sum + kept, 0);
    if (all > 0 && all + bytes > MAX_KEPT * this.maxBytes)
      throw new PublicError('unavailable', `Requests with ${all} bytes wait for their turn; retry`);
  }

  #keep(caller: string | undefined, bytes: number): void {
    const kept = (this.#kept.get(caller) ?? 0) + bytes;
    if (kept > 0) this.#kept.set(caller, kept);
    else this.#kept.delete(caller);
  }

  #begun(caller: string | undefined, place: Place): BodyTurn {
    let body = 0;
    let kept = 0;
    let hasTurn = true;
    let isOver = false;
    const pass = (): void => {
      cancel();
      if (!hasTurn) return;
      hasTurn = false;
      place.release();
    };
    /** The request continues without its turn. */
    const goOn = (): void => {
      if (kept === 0) this.#keep(caller, (kept = body));
      pass();
    };
    const leave = (): void => {
      if (isOver) return;
      isOver = true;
      this.#keep(caller, -kept);
      pass();
    };
    const abandon = (): void => {
      if (isOver) return;
      goOn();
      if (kept === 0) return leave();
      cancel = this.clock.after(LONGEST_WORK_MS, leave);
    };
    let cancel = this.clock.after(ARRIVAL_MS, goOn);
    const arrived = ({ length, values }: Arrived): void => {
      if (isOver) return;
      if (length <= SMALL_BYTES) return leave();
      // one of many values takes no more than its caller's share: others would be refused for it
      body = Math.max(length, Math.min(this.maxBytes, weightOf({ length, values })));
      if (!hasTurn) return goOn();
      cancel();
      place.keep(length);
      cancel = this.clock.after(WORK_MS, goOn);
    };
    return { arrived, abandon, leave };
  }
}

function weightOf({ length, values }: Arrived): number {
  return Math.max(length, BYTES_OF_VALUE * values);
}

/**
 * Makes requests with large bodies wait before their body is read; their turn ends with the answer at the
 * latest.
 */
export function takeTurns(app: FastifyInstance, turns: BodyTurns): void {
  app.decorateRequest('bodyTurn', undefined);
  app.addHook('preParsing', (request, reply, body, done) => {
    const { 'content-length': length, 'transfer-encoding': encoding } = request.headers;
    const announced = encoding === undefined ? Number(length ?? 0) : undefined;
    if (announced === 0) return done(null, body);
    reply.raw.once('close', () => (reply.sent ? request.bodyTurn?.leave() : request.bodyTurn?.abandon()));
    if (announced !== undefined && announced <= SMALL_BYTES) return done(null, body);
    takeTurn(turns, announced, request, reply).then(() => done(null, body), done);
  });
  // also when the client has gone: the work has ended
  app.addHook('onSend', (request, _reply, payload, done) => {
    request.bodyTurn?.leave();
    done(null, payload);
  });
}

async function takeTurn(
  turns: BodyTurns,
  announced: number | undefined,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  const { raw: response } = reply;
  const gone = new AbortController();
  const leave = (): void => gone.abort();
  response.once('close', leave);
  const announcement = { caller: request.caller?.identity, length: announced };
  const turn = await turns.enter(announcement, gone.signal).finally(() => response.off('close', leave));
  if (!turn) return;
  request.bodyTurn = turn;
  if (response.closed) turn.leave();
}

/** The body of a request is here whole, and is parsed next. @throws PublicError `too_many` */
export function countBody(turns: BodyTurns, request: FastifyRequest, body: Arrived): void {
  request.bodyTurn?.arrived(body);
  if (body.length <= SMALL_BYTES) request.bodyTurn = turns.admitSmall(request.caller?.identity, body);
}

/** Releases the body of a request whose answer lasts: inputs are large. */
export function dropBody(request: FastifyRequest): void {
  request.body = undefined;
  request.bodyTurn?.leave();
  request.bodyTurn = undefined;
}
