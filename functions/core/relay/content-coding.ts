import { promisify } from 'node:util';
import { brotliDecompress, constants, gunzip, inflate, inflateRaw, zstdDecompress } from 'node:zlib';

/** Why the body of an answer cannot be used, although its head has arrived. */
export type UnusableBody = 'answer_too_large' | 'broken_answer' | 'encoded_answer' | 'deadline';

type Decode = (bytes: Buffer, options: { maxOutputLength: number }) => Promise<Buffer>;

const decodeDeflate: Decode = (bytes, options) =>
  // some servers omit the zlib wrapper that RFC 9110 section 8.4.1.2 requires
  promisify(inflate)(bytes, options).catch((error) =>
    error.code === 'ERR_BUFFER_TOO_LARGE' ? Promise.reject(error) : promisify<Buffer, object, Buffer>(inflateRaw)(bytes, options),
  );

const gunzipBytes: Decode = promisify(gunzip);

const decoders: Record<string, Decode> = {
  gzip: gunzipBytes,
  'x-gzip': gunzipBytes,
  deflate: decodeDeflate,
  br: promisify(brotliDecompress),
  // RFC 9659: the window is at most 8 MiB
  zstd: (bytes, options) => promisify(zstdDecompress)(bytes, { ...options, params: { [constants.ZSTD_d_windowLogMax]: 23 } }),
};

/** More than two are rare, and each layer could be another decompression bomb. */
const maxCodings = 2;

/**
 * Decodes the content codings of an answer (RFC 9110 section 8.4).
 * @param field - `Content-Encoding`
 * @param maxBytes - maximum size of the decoded content, also between two codings
 */
export async function decodeContent(bytes: Buffer, field: string | undefined, maxBytes: number): Promise<Buffer | UnusableBody> {
  const codings = (field ?? '')
    .toLowerCase()
    .split(',')
    .map((coding) => coding.trim())
    .filter((coding) => coding !== '' && coding !== 'identity');
  if (bytes.length === 0) return bytes;
  if (codings.length > maxCodings) return 'encoded_answer';
  let content = bytes;
  for (const coding of codings.reverse()) {
    const decode = Object.hasOwn(decoders, coding) ? decoders[coding] : undefined;
    if (decode === undefined) return 'encoded_answer';
    try {
      content = await decode(content, { maxOutputLength: maxBytes });
    } catch (error) {
      return (error as { code?: string }).code === 'ERR_BUFFER_TOO_LARGE' ? 'answer_too_large' : 'broken_answer';
    }
  }
  return content;
}
