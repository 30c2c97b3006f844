export { PLATFORM_VERSION } from './generated/platform-version.js';
export { certificates } from './certificates.js';
export {
  choice,
  flag,
  integer,
  json,
  list,
  optionalText,
  optionalChecked,
  optionalParsed,
  text,
  url,
  type Field,
} from './field.js';
export {
  adoptEnvironment,
  ConfigError,
  inheritedEnvironment,
  loadConfig,
  replaceEnvironment,
  startVariables,
  wholeEnvironment,
  type Config,
} from './load-config.js';
export { NODE_MARKS } from './node-marks.js';
export { PROXY_VARIABLES, proxyEnvironment, proxyFor, type Target } from './proxy.js';
