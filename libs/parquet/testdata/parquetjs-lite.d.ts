declare module 'parquetjs-lite' {
  class ParquetSchema {
    constructor(fields: Record<string, { type: string; optional?: boolean; repeated?: boolean }>);
  }
  class ParquetWriter {
    static openFile(schema: ParquetSchema, path: string): Promise<ParquetWriter>;
    appendRow(row: Record<string, unknown>): Promise<void>;
    close(): Promise<void>;
  }
  const parquetjs: { ParquetSchema: typeof ParquetSchema; ParquetWriter: typeof ParquetWriter };
  export default parquetjs;
}
