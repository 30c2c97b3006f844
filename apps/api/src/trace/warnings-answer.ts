import { Answered, listOf, TEXT } from '../wire/shape.js';

export class WarningAnswer {
  @Answered(TEXT, 'What is open or not kept, for people') readonly message: string;
  @Answered(TEXT, 'What an administrator runs to mend it') readonly mend: string;
}

/** Problems that an administrator should repair although the platform works. */
export class WarningsAnswer {
  @Answered(listOf(() => WarningAnswer), 'Empty while nothing is to be mended')
  readonly warnings: readonly WarningAnswer[];
}
