import { describe, expect, it } from '@jest/globals';
import { parseMetadata } from './dataset-requests.js';

describe('parseMetadata', () => {
  it('takes no name for one that another caller sent before', () => {
    parseMetadata('{"team":"a","\\\\":0}');
    expect(parseMetadata('{"team":"b","\\n":1}')).toEqual({ team: 'b', '\n': 1 });
  });
});
