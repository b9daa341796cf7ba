import { characters, describeHidden } from '../../../schemas/text.ts';

/** Endings of media types whose subtype is not the ending. */
const endings: Record<string, string> = {
  'application/gzip': 'gz',
  'application/javascript': 'js',
  'application/msword': 'doc',
  'application/octet-stream': 'bin',
  'application/vnd.ms-excel': 'xls',
  'application/vnd.openxmlformats-officedocument.presentationml.presentation': 'pptx',
  'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet': 'xlsx',
  'application/vnd.openxmlformats-officedocument.wordprocessingml.document': 'docx',
  'audio/mpeg': 'mp3',
  'image/jpeg': 'jpg',
  'image/svg+xml': 'svg',
  'text/markdown': 'md',
  'text/plain': 'txt',
  'video/quicktime': 'mov',
};

/**
 * The name of a file whose caller gives none, such as `photo.png`: many services go by the ending.
 * @param field - name of the form field
 * @param number - of a file in a list
 */
export function fileNameOf(field: string, mediaType: string, number?: number): string {
  const [, subtype] = /^[^/]+\/(?:x-|.*\+)?([a-z0-9]{2,5})$/i.exec(mediaType) ?? [];
  const stem = field
    .replace(/[^\p{L}\p{M}\p{N}_-]+/gu, ' ')
    .trim()
    .replaceAll(' ', '-');
  return `${[stem || 'file', ...(number === undefined ? [] : [number])].join('-')}.${endings[mediaType.toLowerCase()] ?? subtype?.toLowerCase() ?? 'bin'}`;
}

/** The problem of a file name, as a sentence that begins with "must". Services may use it in a path, and people read it. */
export function findFileNameProblem(name: unknown): string | undefined {
  if (typeof name !== 'string' || characters(name) > 255) return 'must be a text of at most 255 characters';
  if (/[/\\]|^\.*$/.test(name)) return 'must be the name of a file, without a path';
  return name.isWellFormed() ? describeHidden(name, false) : 'must be valid Unicode';
}
