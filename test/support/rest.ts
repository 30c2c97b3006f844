import type { Credentials } from './platform.js';

/** What the REST interface answered. */
export interface RestAnswer<T> {
  readonly status: number;
  readonly body: T;
}

/** A plain client of the REST interface with the platform's key and tenant. */
export class Rest {
  constructor(
    readonly credentials: Pick<Credentials, 'restUrl' | 'apiKey' | 'tenantId'>,
    readonly headers: Record<string, string> = {},
  ) {}

  async call<T>(method: string, path: string, body?: unknown): Promise<RestAnswer<T>> {
    const isForm = body instanceof FormData;
    const answer = await fetch(`${this.credentials.restUrl}${path}`, {
      method,
      headers: {
        'x-api-key': this.credentials.apiKey,
        'x-tenant-id': this.credentials.tenantId,
        ...(body === undefined || isForm ? {} : { 'content-type': 'application/json' }),
        ...this.headers,
      },
      ...(body === undefined ? {} : { body: isForm ? body : JSON.stringify(body) }),
    });
    const text = await answer.text();
    return { status: answer.status, body: (text === '' ? undefined : JSON.parse(text)) as T };
  }

  get<T>(path: string): Promise<RestAnswer<T>> {
    return this.call('GET', path);
  }

  post<T>(path: string, body?: unknown): Promise<RestAnswer<T>> {
    return this.call('POST', path, body);
  }

  patch<T>(path: string, body: unknown): Promise<RestAnswer<T>> {
    return this.call('PATCH', path, body);
  }
}
