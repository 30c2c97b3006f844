import { statSync } from 'node:fs';
import { join } from 'node:path';
import { TerminalError } from '#lib/errors';

/** Python ends a line at these as well. */
const LINE_ENDS = /[\p{Cc}\p{Zl}\p{Zp}]/u;

const NAME = String.raw`[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?(?:[ \t]*\[[A-Za-z0-9._, \t-]*\])?`;
const VERSION = String.raw`(?:===|[=~!<>]=|[<>])[ \t]*[A-Za-z0-9][A-Za-z0-9._*+!-]*`;
const VERSIONS = String.raw`${VERSION}(?:[ \t]*,[ \t]*${VERSION})*[ \t]*,?`;
const MARKER = String.raw`(?:;[^\\]*)?`;
/** Requirement from an index: `name[extra] >=1,<2 ; marker`. */
const OF_INDEX = new RegExp(
  String.raw`^(${NAME}[ \t]*(?:${VERSIONS}|\([ \t]*${VERSIONS}[ \t]*\))?)[ \t]*${MARKER}$`,
);
/** pip takes such a name for that of a file, if there is one. */
const ARCHIVE = /\.(zip|tar|tgz|tbz|txz|tlz|gz|bz2|xz|lz|lzma|whl)(\[.*)?$/i;
/** The address of a wheel, bare or behind a name. */
const ADDRESS = new RegExp(
  String.raw`^(?:${NAME}[ \t]*@[ \t]*)?https?://[^\s?#;\\]+/[A-Za-z0-9](?:[\w.+!~-]|%2[Bb])*\.whl(?:[?#][^\s\\]*)?(?:[ \t]+${MARKER})?$`,
);
/** A wheel of the folder. */
const FILE = /^((?:\.{1,2}\/|[\w-]+\/)?[\w.+/-]+\.whl)(?:\[[\w., -]*\])?(?:[ \t]*;[^\\]*)?$/;
const HASHES = /^(?:--hash(?:=|[ \t]+)\w+:\w+[ \t]*)+$/;
const VALUE = String.raw`[^\s'"\\-][^\s'"\\]*`;
const OPTION = [
  String.raw`-[if][ \t]*${VALUE}`,
  String.raw`--(?:index-url|extra-index-url|find-links|trusted-host)(?:=|[ \t]+)${VALUE}`,
  String.raw`--only-binary(?:=|[ \t]+)(?::all:|[\w.,-]+)`,
  '--(?:pre|no-index|prefer-binary|require-hashes)',
].join('|');
const OPTIONS = new RegExp(String.raw`^(?:(?:${OPTION})(?:[ \t]+|$))+$`);

/**
 * Checks one line of pip's input, from whatever list it comes. A line that is not known to be a wheel is
 * refused: pip looks only for wheels in indexes, but builds anything to which an address, a folder or an
 * option of the list leads it.
 * @param where the list, for messages
 * @param builds true when packages may be built from sources
 * @throws TerminalError
 */
export function requireWheels(image: string, where: string, line: string, builds: boolean): void {
  const shown = JSON.stringify(line.slice(0, 200));
  if (LINE_ENDS.test(line.replaceAll('\t', ' '))) throw refused(`${where}: ${shown} has a control character`);
  if (line.includes('${'))
    throw refused(`${where}: ${shown} names a variable, and none is set; write what it stands for`);
  if (builds || isWheel(image, line)) return;
  throw refused(
    `${where}: ${shown} is built from sources, or may be, which runs code of its author on this machine; ` +
      'name a release that has a wheel, or have it built: from git by an install_command, else by image add with --build-packages',
  );
}

/** Files beside the code: by an option, an address, a path, or a name that ends as archives do. */
const BESIDE_CODE =
  /(?:^|\s)(?:--find-links|-f)[\s=]*(?![\s=]|https?:)|file:|^[\w.+-]*\/|@\s*\.{0,2}\/|^[^\s@:;]+\.(?:whl|zip|tar|tgz|tbz|txz|tlz|gz|bz2|xz|lz|lzma)\b/i;

/**
 * True when packages are taken from the image's own folder: such an environment is of no use for another
 * image, whatever its lists contain.
 * @param config text of `pip_config_file`, or nothing
 */
export function takesFromFolder(lines: readonly string[], config: string): boolean {
  return /find[-_]links/i.test(config) || lines.some((line) => BESIDE_CODE.test(line));
}

function isWheel(image: string, line: string): boolean {
  if (line.startsWith('-')) return OPTIONS.test(line);
  const at = line.search(/[ \t]-/);
  const asked = (at < 0 ? line : line.slice(0, at)).trim();
  if (at >= 0 && !HASHES.test(line.slice(at).trim())) return false;
  const ofIndex = OF_INDEX.exec(asked)?.[1]?.trim();
  if (ofIndex !== undefined && !ARCHIVE.test(ofIndex)) return true;
  if (ADDRESS.test(asked)) return true;
  const file = FILE.exec(asked)?.[1];
  return file !== undefined && statSync(join(image, file), { throwIfNoEntry: false })?.isFile() === true;
}

function refused(message: string): TerminalError {
  return new TerminalError('NotAnAgent', message);
}
