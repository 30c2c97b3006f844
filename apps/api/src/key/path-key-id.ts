import { Param, type PipeTransform } from '@nestjs/common';
import { PublicError } from '#lib/errors';

const KEY_ID = /^[0-9A-Za-z]{1,100}$/;

/** The id of an API key in the path; whatever cannot be one names no key. */
export function PathKeyId(name: string): ParameterDecorator {
  const pipe: PipeTransform = {
    transform(value: unknown) {
      if (typeof value === 'string' && KEY_ID.test(value)) return value;
      throw new PublicError('not_found', 'Not Found');
    },
  };
  return Param(name, pipe);
}
