import type { PublicError } from '#lib/errors';
import type { DestinationConfig } from '#lib/resources';
import { invalid } from '../wire/request-pipe.js';
import type { DestinationConfigRequest } from './destination-request.js';

type Address = Pick<DestinationConfig, 'includeBucketInPrefix' | 'endpointUrl'>;

/**
 * Where a bucket is addressed: by its path, or by its host, which the style `virtual` puts it into.
 * @throws PublicError invalid when the style contradicts another field
 */
export function addressOf(wire: DestinationConfigRequest): Address {
  const { bucket_name: bucket, include_bucket_in_prefix: isInPath } = wire;
  const style = wire.config_kwargs_s3?.addressing_style ?? 'auto';
  const endpointUrl = wire.endpoint_url ?? undefined;
  const refused = (msg: string): PublicError => {
    const loc = ['body', 'config', 'config_kwargs_s3', 'addressing_style'];
    return invalid([{ loc, msg, type: 'value_error' }]);
  };
  if (style === 'path' && endpointUrl === undefined)
    throw refused('Buckets of AWS itself are in the host name: leave it out, or give endpoint_url');
  if (style !== 'auto' && typeof isInPath === 'boolean' && isInPath !== (style === 'path'))
    throw refused('include_bucket_in_prefix says the opposite: give one of them');
  if (style !== 'virtual' || endpointUrl === undefined)
    return { includeBucketInPrefix: isInPath ?? true, endpointUrl };
  const [scheme = '', rest = ''] = endpointUrl.split('://');
  const isNamed = isInPath === false || rest.startsWith(`${bucket}.`);
  return {
    includeBucketInPrefix: false,
    endpointUrl: isNamed ? endpointUrl : `${scheme}://${bucket}.${rest}`,
  };
}
