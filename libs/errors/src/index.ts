export { TerminalError, WaitingError } from './classified-error.js';
export { errorText } from './error-text.js';
export { isMissingFile, unless } from './expected-error.js';
export { HTTP_STATUS, PublicError, type FieldProblem, type PublicErrorCode } from './public-error.js';
