import { gunzipSync, gzipSync } from 'node:zlib';
import { parseExact } from '../../../schemas/number.ts';

/** A value as gzipped JSON, in which numbers keep every digit. */
export const pack = async (value: unknown): Promise<Uint8Array> => gzipSync(JSON.stringify(value));

export const unpack = async (bytes: Uint8Array): Promise<unknown> => parseExact(gunzipSync(bytes).toString('utf8'));
