/** Is told how far a backup or a restore is. */
export interface BackupWatch {
  /** Begins a stage; the same name again says more of it. @param expectedBytes undefined where it is not known */
  stage(name: string, expectedBytes: number | undefined): void;
  /** Bytes of the stage so far. */
  bytes(done: number): void;
  /** Something that a person should know. */
  note(text: string): void;
  end(): void;
}
