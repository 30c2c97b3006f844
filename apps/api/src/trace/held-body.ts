import { Readable } from 'node:stream';
import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { Admission, Place } from '#lib/admission';
import { PublicError } from '#lib/errors';
import { bodyPieces } from '#lib/http';
import type { Token } from '#lib/nest';
import { encodingOf } from '../wire/body-parsers.js';
import { type BodyEncoding, inflatedPieces } from './inflated-pieces.js';

/** The memory budget of all bodies of traces, runs and spans alike. */
export const TRACE_BODIES: Token<Admission> = Symbol('bodies of traces');

/** A body as it comes. */
export interface SentBody {
  readonly stream: Readable;
  readonly encoding: BodyEncoding | undefined;
}

/** The body of a route that reads it by itself. @throws PublicError bad_request when the request has none */
export const FromBody = createParamDecorator(
  (kind: 'JSON' | 'multipart' | 'protobuf or JSON', context: ExecutionContext): SentBody => {
    const request = context.switchToHttp().getRequest<FastifyRequest>();
    const { body } = request;
    if (body instanceof Readable) return { stream: body, encoding: encodingOf(request) };
    throw new PublicError('bad_request', `A ${kind} body is required`);
  },
);

/** A body with the account of all memory that it takes: its pieces, inflated, and that of their decoder. */
export class HeldBody {
  #windowBytes = 0;

  /** @param maxBytes of a compressed body, before it is inflated and after */
  constructor(
    private readonly sent: SentBody,
    private readonly account: Place,
    private readonly maxBytes: number,
  ) {}

  /** @throws PublicError too_many, UnreadableError */
  pieces(): AsyncIterable<Buffer> {
    const { stream, encoding } = this.sent;
    const { hold } = this.account;
    if (encoding === undefined) return bodyPieces(stream, hold);
    const holdWindow = (bytes: number): void => {
      if (bytes <= this.#windowBytes) return;
      hold(bytes - this.#windowBytes);
      this.#windowBytes = bytes;
    };
    return inflatedPieces(bodyPieces(stream), { encoding, maxBytes: this.maxBytes, hold, holdWindow });
  }

  /** Counts so many more bytes, for data that is made of the body. @throws PublicError too_many */
  hold(bytes: number): void {
    this.account.hold(bytes);
  }

  /** All but so many bytes of the body are no longer held. */
  keep(bytes: number): void {
    this.account.keep(bytes + this.#windowBytes);
  }

  release(): void {
    this.account.keep(0);
  }
}
