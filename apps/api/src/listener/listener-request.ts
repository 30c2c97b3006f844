import { DNS_LABEL } from '../deployment/resource-spec-request.js';
import { Choice, Nested, Text, TextList } from '../wire/fields.js';

const NAMESPACES =
  'Of a remote listener: namespaces of its own cluster, the first for deployments that name none';
const API_URL = {
  maxLength: 2048,
  pattern: /^https?:\/\/[^ /?#]+(\/[^ ?#]*[^ /?#])?$/,
  patternText: 'Input should be a valid URL without query and without a slash at its end',
  about: 'Where pods of that cluster reach this interface, which takes their traces and checks keys',
};

/** Namespaces that a listener works in. */
export class ComputeConfigRequest {
  @TextList({ minSize: 1, maxSize: 64, maxLength: 63, about: NAMESPACES })
  cluster_namespaces?: string[] | null;
}

/** Settings that make a listener one of another cluster. */
export class RemoteRequest {
  @Text({ ...API_URL, required: true })
  api_url: string;
}

/** Body of `POST /v2/listeners`. */
export class CreateListenerRequest {
  @Text({
    minLength: 1,
    maxLength: 50,
    pattern: DNS_LABEL,
    patternText: 'String should be a DNS label',
    about: 'Name of the Listener; made of compute_id when unset',
  })
  name?: string | null;

  @Choice(['cluster'], { about: 'Immutable' })
  compute_type?: 'cluster' | null;

  @Text({ required: true, minLength: 1, maxLength: 253, about: 'Name of the cluster; immutable' })
  compute_id: string;

  @Nested(() => ComputeConfigRequest)
  compute_config?: ComputeConfigRequest | null;

  @Text({ maxLength: 256, about: 'Ignored: the listener reports its own' })
  version?: string | null;

  @Nested(() => RemoteRequest, {
    about: 'The listener runs in another cluster, started with "agentplane listener manifest"',
  })
  remote?: RemoteRequest | null;
}

/** Body of `PATCH /v2/listeners/{id}`. Immutable fields may be repeated, not changed. */
export class PatchListenerRequest {
  @Choice(['cluster'], { about: 'Immutable' })
  compute_type?: 'cluster' | null;

  @Text({ minLength: 1, maxLength: 253, about: 'Immutable' })
  compute_id?: string | null;

  @Nested(() => ComputeConfigRequest)
  compute_config?: ComputeConfigRequest | null;

  @Text({ maxLength: 256, about: 'Ignored: the listener reports its own' })
  version?: string | null;

  @Nested(() => RemoteRequest, { about: 'Of a remote listener' })
  remote?: RemoteRequest | null;
}
