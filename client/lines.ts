/**
 * Reads lines of UTF-8 that end at LF or CRLF. `node:readline` also ends them at U+2028 and U+2029, which JSON and values may contain.
 */
export async function* readLines(input: AsyncIterable<Uint8Array>): AsyncGenerator<string, undefined> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of input) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) yield line.replace(/\r$/, '');
  }
  rest += decoder.decode();
  if (rest !== '') yield rest.replace(/\r$/, '');
}

/** One line of JSON. U+2028 and U+2029 are escaped, because other programs end lines there. */
export const toLine = (message: object): string =>
  `${JSON.stringify(message).replace(/[\u2028\u2029]/g, (separator) => (separator === '\u2028' ? '\\u2028' : '\\u2029'))}\n`;
