import { join } from 'node:path';
import ts from 'typescript';
import { repository } from '../support/platform.js';

const OPTIONS: ts.CompilerOptions = {
  strict: true,
  noEmit: true,
  skipLibCheck: true,
  types: ['node'],
  noUncheckedSideEffectImports: false,
  target: ts.ScriptTarget.ES2024,
  module: ts.ModuleKind.NodeNext,
  moduleResolution: ts.ModuleResolutionKind.NodeNext,
  jsx: ts.JsxEmit.ReactJSX,
};

/**
 * What the compiler says against blocks of TypeScript, each with the declarations of what its page takes for granted.
 * Their names decide the syntax: `.ts` or `.tsx`.
 */
export function typeProblems(blocks: Readonly<Record<string, string>>): readonly string[] {
  const at = (name: string): string => join(repository, 'test', 'docs', name);
  const texts = new Map(Object.entries(blocks).map(([name, text]) => [at(name), text]));
  const host = ts.createCompilerHost(OPTIONS);
  const { getSourceFile, fileExists, readFile } = host;
  host.fileExists = (name) => texts.has(name) || fileExists(name);
  host.readFile = (name) => texts.get(name) ?? readFile(name);
  host.getSourceFile = (name, version, ...more) => {
    const text = texts.get(name);
    return text === undefined
      ? getSourceFile(name, version, ...more)
      : ts.createSourceFile(name, text, version);
  };
  const program = ts.createProgram([...texts.keys()], OPTIONS, host);
  return [...texts.keys()].flatMap((name) => {
    const file = program.getSourceFile(name);
    return [...program.getSyntacticDiagnostics(file), ...program.getSemanticDiagnostics(file)].map(
      ({ messageText, start = 0 }) => {
        const line = (file?.getLineAndCharacterOfPosition(start).line ?? 0) + 1;
        return `${name}:${line}: ${ts.flattenDiagnosticMessageText(messageText, '\n')}`;
      },
    );
  });
}
