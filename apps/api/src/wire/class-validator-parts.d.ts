/**
 * The parts of class-validator that are used, by their files: its index loads every check there is, the phone numbers of
 * the world among them, 7 MB and 120 ms of CPU.
 */
declare module 'class-validator/cjs/decorator/array/ArrayMaxSize.js' {
  export { ArrayMaxSize } from 'class-validator';
}
declare module 'class-validator/cjs/decorator/array/ArrayMinSize.js' {
  export { ArrayMinSize } from 'class-validator';
}
declare module 'class-validator/cjs/decorator/common/IsIn.js' {
  export { IsIn } from 'class-validator';
}
declare module 'class-validator/cjs/decorator/common/IsOptional.js' {
  export { IsOptional } from 'class-validator';
}
declare module 'class-validator/cjs/decorator/common/ValidateBy.js' {
  export { ValidateBy } from 'class-validator';
}
declare module 'class-validator/cjs/decorator/common/ValidateNested.js' {
  export { ValidateNested } from 'class-validator';
}
declare module 'class-validator/cjs/decorator/number/Max.js' {
  export { Max } from 'class-validator';
}
declare module 'class-validator/cjs/decorator/number/Min.js' {
  export { Min } from 'class-validator';
}
declare module 'class-validator/cjs/decorator/string/Matches.js' {
  export { Matches } from 'class-validator';
}
declare module 'class-validator/cjs/decorator/string/MaxLength.js' {
  export { maxLength, MaxLength } from 'class-validator';
}
declare module 'class-validator/cjs/decorator/string/MinLength.js' {
  export { MinLength } from 'class-validator';
}
declare module 'class-validator/cjs/decorator/string/NotContains.js' {
  export { NotContains } from 'class-validator';
}
declare module 'class-validator/cjs/decorator/typechecker/IsArray.js' {
  export { IsArray } from 'class-validator';
}
declare module 'class-validator/cjs/decorator/typechecker/IsBoolean.js' {
  export { IsBoolean } from 'class-validator';
}
declare module 'class-validator/cjs/decorator/typechecker/IsInt.js' {
  export { IsInt } from 'class-validator';
}
declare module 'class-validator/cjs/decorator/typechecker/IsNumber.js' {
  export { IsNumber } from 'class-validator';
}
declare module 'class-validator/cjs/decorator/typechecker/IsObject.js' {
  export { IsObject } from 'class-validator';
}
declare module 'class-validator/cjs/decorator/typechecker/IsString.js' {
  export { IsString } from 'class-validator';
}
declare module 'class-validator/cjs/metadata/MetadataStorage.js' {
  export { getMetadataStorage } from 'class-validator';
}
declare module 'class-validator/cjs/validation/Validator.js' {
  export { Validator } from 'class-validator';
}
