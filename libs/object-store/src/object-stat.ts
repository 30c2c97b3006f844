export interface ObjectStat {
  readonly size: number;
  /** Without quotation marks. */
  readonly etag: string;
  readonly lastModified: Date;
}

export interface ObjectEntry extends ObjectStat {
  readonly key: string;
}
