import {
  Answered,
  FLAG,
  listOf,
  object,
  orNull,
  TEXT,
  textList,
  TIME,
  UUID,
  WHOLE,
  words,
} from '../wire/shape.js';

/** Namespaces that a listener works in. */
export class ComputeConfigAnswer {
  @Answered(textList(), 'Namespaces that the listener works in')
  readonly cluster_namespaces: readonly string[];
}

/** Addresses by which another cluster reaches the platform. */
export class RemoteAnswer {
  @Answered(TEXT, 'Where pods of its cluster reach this interface') readonly api_url: string;
}

/** A listener on the wire. */
export class ListenerAnswer {
  @Answered(UUID) readonly id: string;
  @Answered(TEXT, 'Name of the Listener') readonly name: string;
  @Answered(TIME) readonly created_at: string;
  @Answered(TIME, 'Time of the newest heartbeat') readonly updated_at: string;
  @Answered(orNull(TEXT)) readonly version: string | null;
  @Answered(words(['cluster'])) readonly compute_type: string;
  @Answered(TEXT) readonly compute_id: string;
  @Answered(object(() => ComputeConfigAnswer)) readonly compute_config: ComputeConfigAnswer;
  @Answered(orNull(object(() => RemoteAnswer)), 'Of a listener that runs in another cluster')
  readonly remote: RemoteAnswer | null;
  @Answered(FLAG, 'Whether its heartbeats arrive and, in this cluster, its pod is ready')
  readonly is_ready: boolean;
  @Answered(orNull(TEXT), 'Reason of the Ready condition: a CamelCase word')
  readonly status_reason: string | null;
  @Answered(orNull(TEXT), 'The same as a sentence') readonly status_message: string | null;
}

export class ListenerPage {
  @Answered(listOf(() => ListenerAnswer)) readonly resources: readonly ListenerAnswer[];
  @Answered(WHOLE, 'What to send as offset for the next page') readonly offset: number;
}
