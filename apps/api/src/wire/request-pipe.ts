import { Injectable, type ArgumentMetadata, type PipeTransform } from '@nestjs/common';
import { plainToInstance } from 'class-transformer';
import type { ValidationError } from 'class-validator';
import { Validator } from 'class-validator/cjs/validation/Validator.js';
import { PublicError, type FieldProblem } from '#lib/errors';
import { findExcess, FreeValues, MAX_PROBLEMS } from './excess.js';

/**
 * Checks bodies and queries against their request class and reports the first hundred problems at once,
 * unknown fields of a body included. If a body has lists that are too long, or very many unknown names,
 * nothing else in it is checked. Unknown query parameters are refused by the guard before, also on routes
 * that take none.
 */
@Injectable()
export class RequestPipe implements PipeTransform {
  readonly #validator = new Validator();

  async transform(value: unknown, { type, metatype }: ArgumentMetadata): Promise<unknown> {
    if ((type !== 'body' && type !== 'query') || !isRequestClass(metatype)) return value;
    if (typeof value !== 'object' || value === null || Array.isArray(value))
      throw invalid([{ loc: [type], msg: 'Input should be a valid object', type: 'model_type' }]);
    const excess = type === 'body' ? findExcess(metatype, value) : [];
    if (excess.length > 0) throw invalid(excess);
    const free = new FreeValues();
    const request = plainToInstance(metatype, type === 'body' ? free.take(metatype, value) : value);
    free.giveBack(request);
    const errors = await this.#validator.validate(request, {
      whitelist: true,
      forbidNonWhitelisted: type === 'body',
      forbidUnknownValues: true,
      validationError: { target: false, value: true },
    });
    if (errors.length > 0) throw invalid(errors.flatMap((error) => problems(error, [type])));
    return request;
  }
}

/** @returns an error that names the first hundred wrong fields */
export function invalid(found: readonly FieldProblem[]): PublicError {
  return new PublicError('invalid', 'the request is not valid', found.slice(0, MAX_PROBLEMS));
}

/** A problem that shows only when fields are seen together, or from what exists. */
export function wrongValue(loc: FieldProblem['loc'], msg: string): FieldProblem {
  return { loc, msg, type: 'value_error' };
}

/** @returns an error with one such problem */
export function wrongField(loc: FieldProblem['loc'], msg: string): PublicError {
  return invalid([wrongValue(loc, msg)]);
}

export function isRequestClass(metatype: unknown): metatype is new () => object {
  return (
    typeof metatype === 'function' &&
    !([String, Number, Boolean, Array, Object, Buffer] as unknown[]).includes(metatype)
  );
}

function problems(error: ValidationError, parents: readonly (string | number)[]): readonly FieldProblem[] {
  const loc = [...parents, /^\d+$/.test(error.property) ? Number(error.property) : error.property];
  const nested = (error.children ?? []).flatMap((child) => problems(child, loc));
  const { constraints = {}, contexts = {} } = error;
  const names = Object.keys(constraints);
  if (names.length === 0) return nested;
  if (names.includes('whitelistValidation'))
    return [{ loc, msg: 'Extra inputs are not permitted', type: 'extra_forbidden' }];
  if (error.value === undefined) return [{ loc, msg: 'Field required', type: 'missing' }];
  const types = names.map((name): [string, string] => [name, typeOf(contexts[name])]);
  const [name, type] = types.sort(([, one], [, other]) => rank(one) - rank(other))[0] ?? ['', ''];
  // a list with invalid items is reported item by item
  if (type === 'model_type' && nested.length > 0) return nested;
  return [{ loc, msg: constraints[name] ?? '', type }, ...nested];
}

function typeOf(context: unknown): string {
  const type: unknown = (context as { type?: unknown } | undefined)?.type;
  return typeof type === 'string' ? type : 'value_error';
}

/** A value of the wrong type fails every other check as well: only the type is reported. */
function rank(type: string): number {
  if (type.endsWith('_type')) return 0;
  return /too_short$|too_long$/.test(type) ? 1 : 2;
}
