export interface ObjectStat {
  readonly size: number;
  /** Etag without quotation marks. */
  readonly etag: string;
  readonly lastModified: Date;
  /** Mark of its upload; undefined also when a store does not keep it. */
  readonly mark?: string;
}

/** Header that carries the mark of an upload to its object. */
export const MARK_NAME = 'agentplane-upload';

export interface ObjectEntry extends Omit<ObjectStat, 'mark'> {
  readonly key: string;
}
