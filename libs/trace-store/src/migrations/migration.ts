/** One numbered step of the schema. Once landed it is never edited: a change is a new number. */
export interface Migration {
  readonly version: number;
  readonly name: string;
  /** Run in one transaction. */
  readonly sql: string;
}
