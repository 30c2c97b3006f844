/** Text of an event. */
export interface EventText {
  readonly type: 'Normal' | 'Warning';
  /** CamelCase word. */
  readonly reason: string;
  readonly message: string;
}
