/** What an event says. */
export interface EventText {
  readonly type: 'Normal' | 'Warning';
  /** CamelCase word. */
  readonly reason: string;
  readonly message: string;
}
