import { describe, expect, it } from '@jest/globals';
import { addressOf, type DestinationConfigRequest } from './destination-request.js';

type Style = 'auto' | 'virtual' | 'path';
const HOST = 'https://oss.example.com';

describe('the address of a bucket', () => {
  it.each<readonly [Style, Partial<DestinationConfigRequest>, string | undefined, boolean]>([
    ['virtual', { endpoint_url: HOST }, 'https://bucket.oss.example.com', false],
    ['virtual', { endpoint_url: `${HOST}:8443/s3` }, 'https://bucket.oss.example.com:8443/s3', false],
    ['virtual', { endpoint_url: 'https://bucket.oss.example.com' }, 'https://bucket.oss.example.com', false],
    ['virtual', { endpoint_url: HOST, include_bucket_in_prefix: false }, HOST, false],
    ['virtual', {}, undefined, true],
    ['path', { endpoint_url: HOST }, HOST, true],
    ['auto', { endpoint_url: HOST, include_bucket_in_prefix: false }, HOST, false],
    ['auto', {}, undefined, true],
  ])('names, in the style %s with %j, %s', (addressing_style, more, endpointUrl, includeBucketInPrefix) => {
    const wire = { bucket_name: 'bucket', config_kwargs_s3: { addressing_style }, ...more };
    expect(addressOf(wire)).toEqual({ endpointUrl, includeBucketInPrefix });
  });
});
