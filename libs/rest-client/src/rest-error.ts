/** The REST interface answered, and not with what was asked for; asking again as it is gives the same below 500. */
export class RestError extends Error {
  constructor(
    /** HTTP status. */
    readonly status: number,
    message: string,
  ) {
    super(message);
    this.name = 'RestError';
  }
}

/** No answer; the cause holds the error of the connection. */
export class RestUnreachableError extends Error {
  constructor(url: string, cause: unknown) {
    super(`the REST interface at ${url} did not answer`, { cause });
    this.name = 'RestUnreachableError';
  }
}

/** The address redirects. No redirect is followed: the key would go to wherever it leads. */
export class RestRedirectError extends Error {
  constructor(url: string, { status, headers }: Response) {
    const location = headers.get('location') ?? 'nowhere';
    super(
      `the REST interface at ${url} redirects to ${location} (HTTP ${status}); give the address that it moved to`,
    );
    this.name = 'RestRedirectError';
  }
}
