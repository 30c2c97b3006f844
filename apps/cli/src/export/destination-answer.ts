/** A destination as the REST interface answers it, as far as its files are looked for. */
export interface DestinationAnswer {
  readonly config: {
    readonly bucket_name: string;
    readonly prefix: string;
    readonly region: string | null;
    readonly endpoint_url: string | null;
    readonly include_bucket_in_prefix: boolean;
  };
}
