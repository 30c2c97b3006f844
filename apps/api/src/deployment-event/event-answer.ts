import { Answered, listOf, object, orNull, TEXT, TIME, WHOLE, words } from '../wire/shape.js';

export class EventObjectAnswer {
  @Answered(TEXT, 'AgentDeployment, AgentRevision, Deployment, ReplicaSet, Pod …') readonly kind: string;
  @Answered(TEXT) readonly name: string;
}

/** Something that happened to a deployment, its revisions or their pods. */
export class EventAnswer {
  @Answered(TEXT) readonly id: string;
  @Answered(words(['Normal', 'Warning'])) readonly type: 'Normal' | 'Warning';
  @Answered(TEXT, 'A word such as `TrafficSwitched`') readonly reason: string;
  @Answered(TEXT) readonly message: string;
  @Answered(WHOLE, 'How often, from the first time to the last') readonly count: number;
  @Answered(TIME) readonly first_time: string;
  @Answered(TIME) readonly last_time: string;
  @Answered(object(() => EventObjectAnswer)) readonly object: EventObjectAnswer;
  @Answered(orNull(TEXT), 'The program that reported it') readonly source: string | null;
}

export class EventList {
  @Answered(listOf(() => EventAnswer)) readonly resources: readonly EventAnswer[];
}
