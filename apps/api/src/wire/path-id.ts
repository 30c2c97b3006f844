import { Param, type PipeTransform } from '@nestjs/common';
import { isUuid } from '#lib/resources';
import { invalid } from './request-pipe.js';

/** An id in the path: a uuid, in lower case. */
export function PathId(name: string): ParameterDecorator {
  const pipe: PipeTransform = {
    transform(value: unknown) {
      if (isUuid(value)) return value.toLowerCase();
      throw invalid([{ loc: ['path', name], msg: 'Input should be a valid UUID', type: 'uuid_parsing' }]);
    },
  };
  return Param(name, pipe);
}
