import { Environment } from '@marcbachmann/cel-js';
import { registerIpFunctions } from './ip-functions.js';
import { registerListFunctions } from './list-functions.js';
import { registerOptionalMacros } from './optional-macros.js';
import { registerQuantityFunctions } from './quantity-functions.js';
import { registerStringFunctions } from './string-functions.js';
import { registerUrlFunctions } from './url-functions.js';

/** The variables and functions that rules of a CustomResourceDefinition may use. */
export const ruleEnvironment: Environment = build();

function build(): Environment {
  const environment = new Environment({ enableOptionalTypes: true, homogeneousAggregateLiterals: false });
  environment.registerVariable('self', 'dyn').registerVariable('oldSelf', 'dyn');
  registerListFunctions(environment);
  registerStringFunctions(environment);
  registerUrlFunctions(environment);
  registerQuantityFunctions(environment);
  registerIpFunctions(environment);
  registerOptionalMacros(environment);
  // fields of the format date-time are timestamps already, and rules that also run elsewhere convert them once more
  environment.registerFunction(
    'timestamp(google.protobuf.Timestamp): google.protobuf.Timestamp',
    (value: unknown) => value,
  );
  return environment;
}
