import { TextList, Time, Uuid } from '../wire/fields.js';

const MAX_NAMED = 1_000;

/** Body of `POST /runs/delete`. */
export class ErasureRequest {
  @Uuid({
    about: "Id of the tracing project of these traces; a deployment's own key may leave it out for its own",
  })
  session_id?: string | null;

  @TextList({ maxSize: MAX_NAMED, maxLength: 36, about: 'Ids of traces' })
  trace_ids?: string[];

  @TextList({
    maxSize: MAX_NAMED,
    maxLength: 255,
    about: 'Threads, as the metadata of runs names them: all their traces',
  })
  thread_ids?: string[];

  @Time({ about: 'Traces of the threads that began later stay; now by default' })
  began_by?: string | null;
}
