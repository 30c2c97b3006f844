import { Answered, listOf, object, orNull, TEXT, textList, TIME, UUID, WHOLE, words } from '../wire/shape.js';

export class ComputeConfigAnswer {
  @Answered(textList(), 'Namespaces that the listener works in')
  readonly cluster_namespaces: readonly string[];
}

/** A listener on the wire. */
export class ListenerAnswer {
  @Answered(UUID) readonly id: string;
  @Answered(TIME) readonly created_at: string;
  @Answered(TIME, 'Time of the newest heartbeat') readonly updated_at: string;
  @Answered(orNull(TEXT)) readonly version: string | null;
  @Answered(words(['cluster'])) readonly compute_type: string;
  @Answered(TEXT) readonly compute_id: string;
  @Answered(object(() => ComputeConfigAnswer)) readonly compute_config: ComputeConfigAnswer;
}

export class ListenerPage {
  @Answered(listOf(() => ListenerAnswer)) readonly resources: readonly ListenerAnswer[];
  @Answered(WHOLE, 'What to send as offset for the next page') readonly offset: number;
}
