/** A column of `kubectl get`, as a CRD's `additionalPrinterColumns` has it. */
export interface PrinterColumn {
  readonly name: string;
  readonly type: string;
  readonly format?: string;
  readonly description?: string;
  /** Priority; above 0 only with `-o wide`. */
  readonly priority?: number;
  readonly jsonPath: string;
}
