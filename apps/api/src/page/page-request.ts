import { Text, Time, Uuid } from '../wire/fields.js';

/** Query of pages: the parameters that the clients add to their addresses, and the start of a page. */
export class PageQuery {
  @Text({ maxLength: 200, about: 'Of the link to the next page' })
  cursor?: string;

  @Text({ maxLength: 10, about: 'Taken and without effect: clients send it' })
  poll?: string;

  @Uuid({ about: 'Likewise' })
  trace_id?: string;

  @Time({ about: 'Likewise' })
  start_time?: string;
}

/** Query of `GET /sign-in`. */
export class SignInQuery {
  @Text({ maxLength: 2_000, about: 'Path of the page to open' })
  to?: string;
}

/** Body of `POST /sign-in`, as a form. */
export class SignInRequest extends SignInQuery {
  @Text({ required: true, maxLength: 200, about: 'An API key that may read traces' })
  key: string;
}
