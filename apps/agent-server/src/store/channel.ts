/** Channel of every notification; payloads are `WORD:ID`. */
export const CHANNEL = 'agentplane';
