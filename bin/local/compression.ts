import { promisify } from 'node:util';
import { deflate, gzip } from 'node:zlib';

const encoders = { gzip: promisify(gzip), deflate: promisify(deflate) };

interface Answer {
  headers: Record<string, string | string[]>;
  body: string | Buffer;
}

/** Compresses a response as API Gateway does: with a content coding that the request accepts, unless the function has encoded it already. */
export async function compress<T extends Answer>(answer: T, acceptEncoding: string, minimumBytes = Number.POSITIVE_INFINITY): Promise<T> {
  const accepted = acceptEncoding
    .toLowerCase()
    .split(',')
    .map((entry) => entry.split(';').map((part) => part.trim()))
    .flatMap(([coding = '', ...parameters]) => (parameters.some((text) => /^q=0(?:\.0*)?$/.test(text)) ? [] : [coding]));
  const coding = (['gzip', 'deflate'] as const).find((name) => accepted.includes(name));
  const isEncoded = Object.keys(answer.headers).some((name) => name.toLowerCase() === 'content-encoding');
  if (coding === undefined || isEncoded || Buffer.byteLength(answer.body) < minimumBytes) return answer;
  return { ...answer, headers: { ...answer.headers, 'Content-Encoding': coding }, body: await encoders[coding](answer.body) };
}
