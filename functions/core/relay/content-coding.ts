import { isUtf8 } from 'node:buffer';
import { promisify } from 'node:util';
import { brotliDecompress, constants, gunzip, inflate, inflateRaw, zstdDecompress } from 'node:zlib';

/** Why the body of an answer cannot be used, although its head has arrived. */
export type UnusableBody = 'answer_too_large' | 'broken_answer' | 'deadline';

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

/** Registered codings that the gate cannot decode. Any other name is a mistake, such as `utf-8` or `none`. */
const unsupported = ['aes128gcm', 'compress', 'x-compress', 'dcb', 'dcz', 'exi', 'pack200-gzip'];

const codingsOf = (field = ''): string[] =>
  field
    .toLowerCase()
    .split(/[,;]/)
    .map((coding) => coding.trim())
    .filter((coding) => Object.hasOwn(decoders, coding) || unsupported.includes(coding));

/** Whether content is passed on as encoded. @param field - `Content-Encoding` */
export function staysEncoded(field: string | undefined): boolean {
  const codings = codingsOf(field);
  return codings.length > maxCodings || codings.some((coding) => unsupported.includes(coding));
}

/**
 * Decodes the content codings of an answer (RFC 9110 section 8.4), so that an answer is lost only if its content is damaged.
 * @param field - `Content-Encoding`
 * @param maxBytes - maximum size of the decoded content, also between two codings
 */
export async function decodeContent(bytes: Buffer, field: string | undefined, maxBytes: number): Promise<Buffer | UnusableBody> {
  if (bytes.length === 0 || staysEncoded(field)) return bytes;
  let content = bytes;
  for (const coding of codingsOf(field).reverse()) {
    try {
      content = (await decoders[coding]?.(content, { maxOutputLength: maxBytes })) ?? content;
    } catch (error) {
      if ((error as { code?: string }).code === 'ERR_BUFFER_TOO_LARGE') return 'answer_too_large';
      // text is not compressed; a proxy may have decoded it and kept the field
      if (!isUtf8(content)) return 'broken_answer';
    }
  }
  return content;
}
