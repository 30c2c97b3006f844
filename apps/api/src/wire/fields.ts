import { applyDecorators } from '@nestjs/common';
import { Type } from 'class-transformer';
import type { ValidationOptions } from 'class-validator';
import { ArrayMaxSize } from 'class-validator/cjs/decorator/array/ArrayMaxSize.js';
import { ArrayMinSize } from 'class-validator/cjs/decorator/array/ArrayMinSize.js';
import { IsIn } from 'class-validator/cjs/decorator/common/IsIn.js';
import { IsOptional } from 'class-validator/cjs/decorator/common/IsOptional.js';
import { ValidateBy } from 'class-validator/cjs/decorator/common/ValidateBy.js';
import { ValidateNested } from 'class-validator/cjs/decorator/common/ValidateNested.js';
import { Max } from 'class-validator/cjs/decorator/number/Max.js';
import { Min } from 'class-validator/cjs/decorator/number/Min.js';
import { Matches } from 'class-validator/cjs/decorator/string/Matches.js';
import { maxLength as isNotLonger, MaxLength } from 'class-validator/cjs/decorator/string/MaxLength.js';
import { MinLength } from 'class-validator/cjs/decorator/string/MinLength.js';
import { NotContains } from 'class-validator/cjs/decorator/string/NotContains.js';
import { IsArray } from 'class-validator/cjs/decorator/typechecker/IsArray.js';
import { IsBoolean } from 'class-validator/cjs/decorator/typechecker/IsBoolean.js';
import { IsInt } from 'class-validator/cjs/decorator/typechecker/IsInt.js';
import { IsNumber } from 'class-validator/cjs/decorator/typechecker/IsNumber.js';
import { IsObject } from 'class-validator/cjs/decorator/typechecker/IsObject.js';
import { IsString } from 'class-validator/cjs/decorator/typechecker/IsString.js';
import { UUID_PATTERN } from '#lib/resources';
import { parseInstant } from '#lib/time';
import { Described } from './operation.js';
import { Noted, type FieldNote } from './excess.js';
import { listOf, object, orNull, type Shape } from './shape.js';

/**
 * One decorator for each kind of field of a request: checks it and describes it in the OpenAPI document. Fields are
 * optional and may be null unless `required`. Messages and types are those that clients of this interface know.
 */
interface FieldOptions {
  readonly required?: boolean;
  readonly about?: string;
}

/** Options of a field with parts. */
export interface InsideOptions extends FieldOptions, FieldNote {}

/** Message of a failed check. */
export function says(msg: string, type: string, each = false): ValidationOptions {
  return { message: msg, context: { type }, each };
}

/** A field with checks of its own. */
export function field(
  options: InsideOptions,
  schema: Shape,
  ...checks: PropertyDecorator[]
): PropertyDecorator {
  const { required = false, about, maxItems, inside, isStrict = false } = options;
  return applyDecorators(
    Noted({
      ...(maxItems === undefined ? {} : { maxItems }),
      ...(inside ? { inside } : {}),
      ...(required ? { isRequired: required } : {}),
      ...(isStrict ? { isStrict } : {}),
    }),
    Described(({ ApiProperty }) =>
      ApiProperty({
        ...(required ? schema : orNull(schema)),
        required,
        ...(about === undefined ? {} : { description: about }),
      }),
    ),
    ...(required ? [] : [IsOptional()]),
    ...checks,
  );
}

interface TextOptions extends FieldOptions {
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: RegExp;
  readonly patternText?: string;
  /** True refuses half a character: the later forms of the text cannot hold it. */
  readonly isUnicode?: boolean;
}

const WELL_FORMED = ValidateBy(
  {
    name: 'isWellFormed',
    validator: { validate: (value) => typeof value === 'string' && value.isWellFormed() },
  },
  says('String should be well-formed Unicode', 'string_unicode'),
);

export function Text(options: TextOptions = {}): PropertyDecorator {
  const { minLength = 0, maxLength = 10_000, pattern, patternText, isUnicode = false } = options;
  return field(
    options,
    {
      type: String,
      ...(minLength > 0 ? { minLength } : {}),
      maxLength,
      ...(pattern ? { pattern: pattern.source } : {}),
    },
    IsString(says('Input should be a valid string', 'string_type')),
    MinLength(minLength, says(`String should have at least ${minLength} characters`, 'string_too_short')),
    MaxLength(maxLength, says(`String should have at most ${maxLength} characters`, 'string_too_long')),
    // neither Postgres nor an environment variable can hold it
    NotContains('\0', says('String should not contain U+0000', 'string_nul')),
    ...(isUnicode ? [WELL_FORMED] : []),
    ...(pattern
      ? [
          Matches(
            pattern,
            says(patternText ?? `String should match pattern '${pattern.source}'`, 'string_pattern_mismatch'),
          ),
        ]
      : []),
  );
}

export function Uuid(options: FieldOptions = {}): PropertyDecorator {
  return field(
    options,
    { type: String, format: 'uuid' },
    Matches(UUID_PATTERN, says('Input should be a valid UUID', 'uuid_parsing')),
  );
}

/** ISO 8601. */
export function Time(options: FieldOptions = {}): PropertyDecorator {
  return field(
    options,
    { type: String, format: 'date-time' },
    ValidateBy(
      {
        name: 'isTime',
        validator: {
          validate: (value) =>
            typeof value === 'string' && parseInstant(value, { zone: 'optional' }) !== undefined,
        },
      },
      says('Input should be an ISO 8601 time', 'datetime_parsing'),
    ),
  );
}

/** Bounds of a number. */
export interface NumberOptions extends FieldOptions {
  readonly min?: number;
  readonly max?: number;
  /** Said in the OpenAPI document; the class itself sets it. */
  readonly fallback?: number;
}

function bounds({ min, max }: NumberOptions): PropertyDecorator[] {
  return [
    ...(min === undefined
      ? []
      : [Min(min, says(`Input should be greater than or equal to ${min}`, 'greater_than_equal'))]),
    ...(max === undefined
      ? []
      : [Max(max, says(`Input should be less than or equal to ${max}`, 'less_than_equal'))]),
  ];
}

function bounded(type: string, { min, max, fallback }: NumberOptions): Shape {
  return {
    type,
    ...(fallback === undefined ? {} : { default: fallback }),
    ...(min === undefined ? {} : { minimum: min }),
    ...(max === undefined ? {} : { maximum: max }),
  };
}

export function Whole(options: NumberOptions = {}): PropertyDecorator {
  return field(
    options,
    bounded('integer', options),
    IsInt(says('Input should be a valid integer', 'int_type')),
    ...bounds(options),
  );
}

export function Decimal(options: NumberOptions = {}): PropertyDecorator {
  return field(
    options,
    bounded('number', options),
    IsNumber({ allowNaN: false, allowInfinity: false }, says('Input should be a valid number', 'float_type')),
    ...bounds(options),
  );
}

export function Flag(options: FieldOptions = {}): PropertyDecorator {
  return field(options, { type: Boolean }, IsBoolean(says('Input should be a valid boolean', 'bool_type')));
}

interface ChoiceOptions extends FieldOptions {
  /** Values that the OpenAPI document lists, if the field accepts other spellings of them. */
  readonly spellings?: readonly string[];
}

export function Choice(values: readonly string[], options: ChoiceOptions = {}): PropertyDecorator {
  const words = values.map((value) => `'${value}'`).join(', ');
  return field(
    options,
    { type: String, enum: [...(options.spellings ?? values)] },
    IsIn(values, says(`Input should be one of ${words}`, 'enum')),
  );
}

export function Nested(
  type: () => new () => object,
  options: FieldOptions & Pick<FieldNote, 'isStrict'> = {},
): PropertyDecorator {
  return field(
    { ...options, inside: type },
    object(type),
    IsObject(says('Input should be a valid object', 'model_type')),
    ValidateNested(says('Input should be a valid object', 'model_type')),
    Type(type),
  );
}

interface ListOptions extends FieldOptions {
  readonly minSize?: number;
  readonly maxSize?: number;
}

const MAX_ITEMS = 1000;

function sizes({ minSize = 0, maxSize = MAX_ITEMS }: ListOptions): Shape {
  return { ...(minSize > 0 ? { minItems: minSize } : {}), maxItems: maxSize };
}

function listNote(options: ListOptions): InsideOptions {
  return { ...options, maxItems: options.maxSize ?? MAX_ITEMS };
}

function listChecks({ minSize = 0, maxSize = MAX_ITEMS }: ListOptions): PropertyDecorator[] {
  return [
    IsArray(says('Input should be a valid list', 'list_type')),
    ArrayMinSize(minSize, says(`List should have at least ${minSize} items`, 'too_short')),
    ArrayMaxSize(maxSize, says(`List should have at most ${maxSize} items`, 'too_long')),
  ];
}

export function NestedList(type: () => new () => object, options: ListOptions = {}): PropertyDecorator {
  return field(
    { ...listNote(options), inside: type },
    { ...listOf(type), ...sizes(options) },
    ...listChecks(options),
    // a list within a list would be taken for its items
    IsObject(says('Input should be a valid object', 'model_type', true)),
    ValidateNested(says('Input should be a valid object', 'model_type', true)),
    Type(type),
  );
}

interface TextListOptions extends ListOptions {
  readonly choices?: readonly string[];
  /** Maximum length of an item. */
  readonly maxLength?: number;
}

export function TextList(options: TextListOptions = {}): PropertyDecorator {
  const { choices, maxLength } = options;
  const item = {
    type: 'string',
    ...(maxLength === undefined ? {} : { maxLength }),
    ...(choices ? { enum: [...choices] } : {}),
  };
  return field(
    listNote(options),
    { type: 'array', items: item, ...sizes(options) },
    ...listChecks(options),
    IsString(says('Input should be a valid string', 'string_type', true)),
    ...(maxLength === undefined
      ? []
      : [
          MaxLength(
            maxLength,
            says(`Every item should have at most ${maxLength} characters`, 'string_too_long', true),
          ),
        ]),
    ...(choices
      ? [IsIn(choices, says(`Every item should be one of ${choices.join(', ')}`, 'enum', true))]
      : []),
  );
}

export function DecimalList(options: ListOptions = {}): PropertyDecorator {
  return field(
    listNote(options),
    { type: 'array', items: { type: 'number' }, ...sizes(options) },
    ...listChecks(options),
    IsNumber(
      { allowNaN: false, allowInfinity: false },
      says('Input should be a valid number', 'float_type', true),
    ),
  );
}

interface TextMapOptions extends FieldOptions {
  readonly maxEntries: number;
  /** Maximum length of a value. */
  readonly maxLength: number;
}

function everyValue(
  name: string,
  holds: (value: unknown) => boolean,
  said: ValidationOptions,
): PropertyDecorator {
  const validate = (map: unknown) => isPlainObject(map) && Object.values(map).every(holds);
  return ValidateBy({ name, validator: { validate } }, said);
}

/** A map from text to text. */
export function TextMap(options: TextMapOptions): PropertyDecorator {
  const { maxEntries, maxLength } = options;
  return field(
    options,
    { type: 'object', additionalProperties: { type: 'string', maxLength }, maxProperties: maxEntries },
    everyValue(
      'isTextMap',
      (value) => typeof value === 'string',
      says('Input should be an object whose values are strings', 'dict_type'),
    ),
    ValidateBy(
      {
        name: 'hasFewEntries',
        validator: { validate: (map) => isPlainObject(map) && Object.keys(map).length <= maxEntries },
      },
      says(`Object should have at most ${maxEntries} members`, 'too_long'),
    ),
    everyValue(
      'hasShortValues',
      (value) => isNotLonger(value, maxLength),
      says(`Every value should have at most ${maxLength} characters`, 'string_too_long'),
    ),
  );
}

/** Any object; the API server judges its contents. */
interface FreeObjectOptions extends FieldOptions {
  /** Maximum size of its JSON text; by default that of a body. */
  readonly maxBytes?: number;
}

export function FreeObject({ maxBytes = 1_048_576, ...options }: FreeObjectOptions = {}): PropertyDecorator {
  const validate = (value: unknown): boolean => Buffer.byteLength(JSON.stringify(value) ?? '') <= maxBytes;
  return field(
    options,
    { type: 'object', additionalProperties: true },
    IsObject(says('Input should be a valid object', 'dict_type')),
    ValidateBy(
      { name: 'isSmall', validator: { validate } },
      says(`Input should be at most ${maxBytes} bytes long`, 'too_long'),
    ),
  );
}

export function FreeObjectList(options: ListOptions = {}): PropertyDecorator {
  return field(
    listNote(options),
    { type: 'array', items: { type: 'object', additionalProperties: true }, ...sizes(options) },
    ...listChecks(options),
    IsObject(says('Input should be a valid object', 'dict_type', true)),
  );
}

function isPlainObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
